# Every target makes its own virtual environment; nothing but python3 and make is needed beforehand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# The matrices are small and the work runs in several processes: more BLAS threads only get in each other's way.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# The theme advertises its successor on every build.
export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test lint format docs publish-docs bench dist clean
.NOTPARALLEL:

help:
	@echo "make demo    EigenUCB against PSLB, OFUL (also tuned), LinUCB and LinTS, on images and on a model"
	@echo "make test    lint, types, tests and documentation, as the CI runs them"
	@echo "make lint    ruff and mypy"
	@echo "make format  let ruff rewrite the code"
	@echo "make docs    the documentation site, in site/"
	@echo "make publish-docs VERSION=0.2 ALIAS=latest    the site as one version of several, on the branch gh-pages"
	@echo "make bench   time, memory and regret beside other libraries; see benchmarks/README.md"
	@echo "make dist    the source archive and the wheel, in dist/, checked where nothing of the repository is"
	@echo "make clean   remove everything that the targets made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "eigenbandits needs Python 3.11 or newer: run 'make PYTHON=/path/to/python3.11 ...'."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable ".[lab,digits]"
	@touch $@

# `make test TORCH=torch` also tests the networks; torch is too large to be pulled unasked.
$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable ".[dev,cli,fast,plot,lab,digits,images,serve-postgres,gym,mcp,docs]"
	$(if $(TORCH),$(PIP) install --quiet "$(TORCH)" || echo "There is no $(TORCH); the tests of networks are skipped.")
	@touch $@ $(VENV)/.installed-demo

demo: $(VENV)/.installed-demo
	$(BIN)/eigenbandits demo

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation first: a test looks at the site.
test: lint docs
	EIGENBANDITS_BACKEND=numba $(BIN)/pytest -n 2 --quiet --no-header -r fE tests/belief tests/algorithms tests/rules
	$(BIN)/pytest -n 2

docs: $(VENV)/.installed-test
	$(BIN)/mkdocs build --strict --quiet

# The site's first page leads to `latest`, or to this version before anything has been called so.
publish-docs: export DOCS_VERSIONS := mike
publish-docs: export PATH := $(CURDIR)/$(BIN):$(PATH)
publish-docs: $(VENV)/.installed-test
	mike deploy --push --update-aliases $(VERSION) $(ALIAS)
	mike set-default --push "$$(mike list latest >/dev/null 2>&1 && echo latest || echo $(VERSION))"

# An environment of its own: the peers' dependencies stay out of ours. `make bench BENCH=--quick` takes two minutes.
bench:
	$(PYTHON) benchmarks/run.py $(BENCH)

# The wheel is built from the source archive, so that the archive is known to be complete.
dist:
	rm -rf dist
	$(PYTHON) -m venv dist/tools
	dist/tools/bin/pip --disable-pip-version-check install --quiet build twine
	dist/tools/bin/python -m build --outdir dist .
	dist/tools/bin/twine check --strict dist/*.tar.gz dist/*.whl
	$(PYTHON) -m venv dist/check
	dist/check/bin/pip --disable-pip-version-check install --quiet dist/*.whl
	cd dist/check && bin/python ../../scripts/check_distribution.py ..

clean:
	rm -rf $(VENV) site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

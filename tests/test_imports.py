"""Who may import whom: the rooms of docs/architecture.md, checked on every import, those inside functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import eigenbandits

ROOT = Path(str(eigenbandits.__file__)).parent
# What any room may import: reading inputs, parts with parameters and state, missing extras.
COMMON = {"inputs", "component", "extras"}
KERNEL = COMMON | {"theory", "linalg", "files", "merging", "translation"}
CORE = KERNEL | {"subspace", "belief", "rules", "policy", "algorithms", "wrappers", "features"}
DATA = {"environments", "offpolicy", "fitting", "testing"}
TOP = {"eigenbandits", "lab", "serve", "papers", "router", "adapters", "cli"}
"""Rooms that no other room of the library imports."""
SERVE = CORE | DATA | {"backends"}
_SHARED = {"errors", "logs", "metrics", "clock", "settings", "served_decision"}
_WRITER = _SHARED | {"storage", "keys"}
SERVE_ROOMS = {
    **dict.fromkeys(_SHARED, _SHARED),
    "storage": _SHARED,
    "keys": _SHARED | {"storage"},
    "first_key": _WRITER,
    "writer": _WRITER,
    "export": _WRITER | {"writer"},
    "deciders": _WRITER | {"writer"},
    "learner": _WRITER | {"writer"},
    "http": _WRITER | {"writer", "export"},
    "client": {"served_decision"},
}
"""What each room of the service may import of the service; one that is not named here, such as `server`, all of it."""
ALLOWED = {
    **dict.fromkeys(COMMON, COMMON),
    "theory": COMMON,
    "linalg": COMMON,
    "files": COMMON | {"theory"},
    "merging": COMMON | {"linalg"},
    "translation": COMMON,
    "features": COMMON,
    "subspace": KERNEL,
    "belief": KERNEL | {"subspace"},
    "rules": KERNEL | {"subspace", "belief"},
    "policy": KERNEL | {"subspace", "belief", "rules"},
    "algorithms": KERNEL | {"subspace", "belief", "rules", "policy"},
    "wrappers": KERNEL | {"subspace", "belief", "rules", "policy"},
    **dict.fromkeys(DATA, CORE | DATA),
    "lab": CORE | DATA | {"backends"},
    "serve": SERVE | {"serve"},
    "papers": CORE | DATA | {"lab"},
    "adapters": CORE | DATA | {"serve.client"},
    "router": CORE | {"serve.client"},
    **{f"serve.{name}": SERVE | {f"serve.{other}" for other in others} for name, others in SERVE_ROOMS.items()},
    "lab.errors": COMMON,
    "lab.folders": COMMON,
    "lab.downloads": COMMON | {"lab.errors", "lab.folders"},
    "lab.experiments": CORE | DATA | {"backends", "lab.errors"},
    "lab.reporting": CORE | {"lab.errors", "lab.experiments"},
    "lab.studies": CORE
    | DATA
    | {"lab.errors", "lab.folders", "lab.downloads", "lab.experiments", "lab.reporting", "router"},
}
"""What each room may import; a room that is not named here may import all but `TOP`, and `cli` everything."""


class Import(NamedTuple):
    """One import: the module that it is in, the module that is imported, and the line."""

    importer: str
    imported: str
    line: int


def modules(root: Path) -> dict[str, Path]:
    """Return the files of a package by the names of their modules."""
    found = {}
    for path in root.rglob("*.py"):
        parts = [root.name, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(
    name: str, source: str, known: set[str], types: bool = True, package: str = "eigenbandits"
) -> Iterator[Import]:
    """Yield the imports of a module from its own package, with or without those that are for the type checker only."""
    tree = ast.parse(source)
    for node in ast.walk(tree) if not types else ():
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    # `import eigenbandits` for the version or the folder is no import of what the package exports.
    plain = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == package
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}, line {node.lineno}: imports are absolute here"
            if (node.module or "").partition(".")[0] == package:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    yield Import(name, full if full in known else str(node.module), node.lineno)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == package and not (
                    alias.name == package and plain and plain <= {"__version__", "__file__"}
                ):
                    yield Import(name, alias.name, node.lineno)


def room(module: str) -> str:
    """Return the room of a module: the folder or file below the package; in the lab and the service, below that."""
    parts = module.split(".")[1:]
    if not parts:
        return "eigenbandits"
    return ".".join(parts[:2]) if parts[0] in ("lab", "serve") and len(parts) > 1 else parts[0]


def allows(importer: str, imported: str) -> bool:
    """Tell whether a room may import a module."""
    if importer == room(imported) or importer in ("cli", "eigenbandits"):
        return not (importer == "eigenbandits" and room(imported) in ("cli", "serve", "papers", "router", "adapters"))
    if importer == "lab":  # its own __init__, which gives the names of its rooms
        return room(imported).partition(".")[0] in ALLOWED["lab"] | {"lab"}
    target = imported.removeprefix("eigenbandits.")
    allowed = ALLOWED.get(importer, ALLOWED["serve"] if importer.startswith("serve.") else None)
    if allowed is None:
        return room(imported).partition(".")[0] not in TOP
    return any(target == one or target.startswith(f"{one}.") for one in allowed) or (
        # A room that the table does not know yet; what it may import is limited all the same, and so are cycles.
        room(imported) not in ALLOWED and room(imported).partition(".")[0] not in TOP
    )


def cycles(edges: list[Import]) -> list[set[str]]:
    """Return the sets of modules that import each other, directly or through others."""
    targets: dict[str, set[str]] = {}
    for one in edges:
        targets.setdefault(one.importer, set()).add(one.imported)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(targets.get(start, ()))
        while waiting:
            module = waiting.pop()
            if module not in found:
                found.add(module)
                waiting.extend(targets.get(module, ()))
        return found

    reach = {module: reached(module) for module in targets}
    together = {frozenset(other for other in reach[m] if m in reach.get(other, ())) for m in reach if m in reach[m]}
    return [set(group) for group in together]


KNOWN = modules(ROOT)
EVERY = [one for name, path in KNOWN.items() for one in imports(name, path.read_text("utf-8"), set(KNOWN))]


@pytest.mark.parametrize("importer", sorted({room(name) for name in KNOWN}))
def test_a_room_imports_only_what_it_may(importer):
    wrong = [one for one in EVERY if room(one.importer) == importer and not allows(importer, one.imported)]
    assert not wrong, f"{importer} may not import these; see docs/architecture.md: {wrong}"


def test_no_modules_import_each_other():
    edges = [one for name, path in KNOWN.items() for one in imports(name, path.read_text("utf-8"), set(KNOWN), False)]
    assert cycles(edges) == []
    assert cycles([Import("a", "b", 1), Import("b", "c", 1), Import("c", "a", 1), Import("c", "d", 1)]) == [
        {"a", "b", "c"}
    ]


def test_every_room_of_the_table_that_exists_is_checked():
    rooms = {room(name) for name in KNOWN}
    assert {
        "subspace",
        "belief",
        "rules",
        "policy",
        "environments",
        "lab.studies",
        "serve.writer",
        "serve.http",
    } <= rooms
    assert len(EVERY) > 500


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("eigenbandits.theory.radius", "from eigenbandits.belief import Ambient"),
        ("eigenbandits.subspace.pca", "def f():\n    from eigenbandits.belief import base"),
        ("eigenbandits.belief.base", "from eigenbandits import rules"),
        ("eigenbandits.policy", "import eigenbandits\nprint(eigenbandits.lab)"),
        ("eigenbandits.environments.base", "from eigenbandits.papers import lale2019"),
        ("eigenbandits.lab.experiments.store", "from eigenbandits.lab.reporting import html"),
        ("eigenbandits.lab.studies.demo", "from eigenbandits.serve import client"),
        ("eigenbandits.lab.downloads", "from eigenbandits.lab.experiments import store"),
        ("eigenbandits.lab.reporting.tables", "def f():\n    from eigenbandits.lab.studies import demo"),
        ("eigenbandits.lab.errors", "from eigenbandits.lab import folders"),
        ("eigenbandits.serve.app", "if True:\n    import eigenbandits.lab.errors"),
        ("eigenbandits.serve.errors", "from eigenbandits.serve.storage import schema"),
        ("eigenbandits.serve.storage.journal", "from eigenbandits.serve.writer import batch"),
        ("eigenbandits.serve.writer.batch", "from eigenbandits.serve.http.gateway import Gateway"),
        ("eigenbandits.serve.writer.batch", "from eigenbandits.serve import server"),
        ("eigenbandits.serve.http.gateway", "from eigenbandits.serve.deciders import decider"),
        ("eigenbandits.serve.learner.learner", "from eigenbandits.serve.deciders import decider"),
        ("eigenbandits.serve.client.calls", "from eigenbandits.serve import errors"),
        ("eigenbandits.router.app", "from eigenbandits.serve import writer"),
        ("eigenbandits.brand_new", "from eigenbandits.lab import run"),
        ("eigenbandits", "from eigenbandits.serve import Server"),
    ],
)
def test_a_back_edge_is_found(name, source):
    known = set(KNOWN) | {"eigenbandits.serve.writer"}
    assert any(not allows(room(one.importer), one.imported) for one in imports(name, source, known)), source


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("eigenbandits.lab.experiments.cells", "import eigenbandits\nprint(eigenbandits.__version__)"),
        ("eigenbandits.router.app", "from eigenbandits.serve.client import Client"),
        ("eigenbandits.papers.other", "from eigenbandits.lab.studies import streams"),
        ("eigenbandits.brand_new", "from eigenbandits.policy import Policy"),
        ("eigenbandits.cli.services", "from eigenbandits.serve import Server"),
    ],
)
def test_a_forward_edge_is_not(name, source):
    assert all(allows(room(one.importer), one.imported) for one in imports(name, source, set(KNOWN))), source

"""Check a built distribution from an environment that has nothing but the wheel: `check_distribution.py FOLDER`."""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import eigenbandits as eb

# Megabytes. The wheel holds no tests, no pages and no data but the digits' network.
LARGEST_WHEEL, LARGEST_ARCHIVE = 1.5, 8.0
NEEDED = (
    *("benchmarks/run.py", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "deploy/Dockerfile"),
    *("docs/index.md", "docs/explained/flagship.js", "tests/docs/pages.py", "Makefile", "mkdocs.yml", "LICENSE"),
)


def main(folder: Path) -> None:
    """Check sizes and contents, then play a hundred rounds with what is installed."""
    wheel, archive = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    sizes = {path: path.stat().st_size / 2**20 for path in (wheel, archive)}
    for path, most in ((wheel, LARGEST_WHEEL), (archive, LARGEST_ARCHIVE)):
        print(f"{path.name}: {sizes[path]:.2f} MB")
        if sizes[path] > most:
            sys.exit(f"{path.name} is larger than {most} MB; find out what it holds.")
    with tarfile.open(archive) as found:
        names = {name.partition("/")[2] for name in found.getnames()}
    missing = sorted(set(NEEDED) - names)
    if missing:
        sys.exit(f"{archive.name} lacks {', '.join(missing)}.")
    if Path(str(eb.__file__)).is_relative_to(Path(__file__).parents[1] / "src"):
        sys.exit("this is the library of the checkout, not the one that was built.")
    world = eb.environments.LowRank(dim=30, rank=2, arms=8).instance(seed=0)
    policy = eb.EigenUCB(seed=0)
    for offered, _ in zip(world.rounds(), range(100), strict=False):
        decision = policy.choose(offered.actions)
        policy.learn(decision, offered.reward(decision.index))
    with tempfile.TemporaryDirectory() as place:
        policy.save(Path(place) / "policy.eb")
        again = eb.load(Path(place) / "policy.eb")
    actions = np.random.default_rng(0).standard_normal((8, 30))
    if again.choose(actions).index != policy.choose(actions).index:
        sys.exit("a loaded policy chooses differently.")
    print(f"eigenbandits {eb.__version__} works: {policy.diagnostics().summary[0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

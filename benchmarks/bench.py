"""The command line: which comparison to run, at which sizes, and where the results go."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import amortized, cells, cold, figure, growth, huge, long, ratios, tables
from benchmarks.data import HERE, Size, prepare
from benchmarks.methods import METHODS
from eigenbandits.files import write_whole

# Rounds are few where decision sets are large: all of them are held in memory before the clock starts.
ROUNDS = {(100, 10): 2_000, (1_000, 10): 1_000, (100, 1_000): 500, (1_000, 1_000): 150, (4_096, 100): 150}
QUICK_SIZES = [(100, 10), (1_000, 10)]
# Early rounds, which pay for a warm-up that later ones do not, must not be all that is seen of our own policies.
OURS_LONGER = 5.0
RESULTS = HERE / "results"
OTHERS = {
    "ratios": ratios,
    "amortized": amortized,
    "cold": cold,
    "growth": growth,
    "long": long,
    "huge": huge,
}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for."""
    options = _parser().parse_args(arguments)
    options.sizes_given = options.sizes != list(ROUNDS)
    cells.fresh = options.fresh
    RESULTS.mkdir(exist_ok=True)
    if options.publish:
        publish()
        return 0
    others = [name for name in OTHERS if getattr(options, name)]
    for name in others:
        _write(name, OTHERS[name].compare(options))
    if others:
        return 0
    rows = side_by_side(options)
    _write("side-by-side", tables.side_by_side(rows, tables.machine()), rows)
    _write("summary", tables.summary(rows, tables.machine()))
    figure.draw(rows, RESULTS)
    return 0


def publish() -> None:
    """Copy the tables to where the documentation reads them, and the figure into it."""
    (HERE / "published").mkdir(exist_ok=True)
    for table in sorted(RESULTS.glob("*.md")):
        write_whole(HERE / "published" / table.name, table.read_bytes())
    target = HERE.parent / "docs" / "images"
    target.mkdir(exist_ok=True)
    write_whole(target / "time-regret.png", (RESULTS / "time-regret.png").read_bytes())


def side_by_side(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run every method on every size, with each number of threads, as often as asked."""
    rows = []
    for dim, arms in options.sizes:
        size = Size(dim, arms)
        rounds = min(ROUNDS.get((dim, arms), 300), options.rounds or 10**9)
        reserve = max(21, rounds // 10)
        folder = prepare(size, rounds, reserve)
        for threads in options.threads:
            # Each repeat goes through all methods before the next begins: a busy minute hits one repeat of each.
            for repeat in range(options.repeats):
                for name in options.methods:
                    task = {
                        "method": name,
                        "size": {"dim": dim, "arms": arms},
                        "data": str(folder),
                        "budget": options.budget * (OURS_LONGER if METHODS[name].group == "ours" else 1.0),
                        "repeat": repeat,
                    }
                    found = cells.ask("benchmarks.child", task, threads, limit=options.limit)
                    row = {"method": name, "dim": dim, "arms": arms, "threads": threads, "repeat": repeat}
                    rows.append(row | {"asked": rounds} | found)
                    print(tables.one_line(rows[-1]), flush=True)
    return rows


def _write(name: str, text: str, rows: list[dict[str, Any]] | None = None) -> None:
    print(text)
    write_whole(RESULTS / f"{name}.md", text.encode())
    if rows is not None:
        write_whole(RESULTS / f"{name}.json", json.dumps(rows, indent=1).encode())
    print(f"Written to {(RESULTS / name).relative_to(Path.cwd())}.md", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    add = parser.add_argument
    add("--sizes", type=_sizes, default=list(ROUNDS), help="as 100x10,1000x10: d and K; all five by default")
    add("--threads", type=_numbers, default=[1, 2], help="BLAS threads, as 1,2")
    add("--rounds", type=int, default=0, help="at most this many rounds in a cell; by default as many as the size has")
    add("--methods", type=_methods, default=list(METHODS), help=f"of {', '.join(METHODS)}")
    add("--repeats", type=int, default=1, help="how often each cell is measured")
    add("--budget", type=float, default=8.0, help="seconds of choosing and learning after which a cell ends")
    add("--limit", type=float, default=400.0, help="seconds after which a cell is given up")
    add("--publish", action="store_true", help="put the results of earlier runs into the documentation, and end")
    add("--fresh", action="store_true", help="measure again what earlier runs have left on disk")
    add("--quick", action="store_true", help="two sizes, one thread, 200 rounds, a second each: does it all work?")
    add("--ratios", action="store_true", help="what we promise about speed, between methods that take turns")
    add("--amortized", action="store_true", help="of --ratios only the flagship's sum over all of 2,000 rounds")
    add("--cold", action="store_true", help="the slowest of the first 200 rounds against a warm one")
    add("--growth", action="store_true", help="fit how our time per round grows with d, K and m")
    add("--long", action="store_true", help="time late rounds against early ones over 100,000 rounds")
    add("--huge", action="store_true", help="time and memory of the streaming policy at d = 50,000")
    return _Quick(parser)


class _Quick(argparse.ArgumentParser):
    """A parser whose --quick changes the other defaults."""

    def __init__(self, parent: argparse.ArgumentParser) -> None:
        super().__init__(prog=parent.prog, description=parent.description, parents=[parent], add_help=False)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = sys.argv[1:] if args is None else args
        if "--quick" in words:
            self.set_defaults(sizes=QUICK_SIZES, threads=[1], rounds=200, budget=1.0)
        return super().parse_args(words, namespace)


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _sizes(text: str) -> list[tuple[int, int]]:
    pairs = [word.lower().split("x") for word in text.split(",")]
    return [(int(dim), int(arms)) for dim, arms in pairs]


def _methods(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in METHODS:
            raise argparse.ArgumentTypeError(f"{name!r} is not a method; expected some of {', '.join(METHODS)}.")
    return names


if __name__ == "__main__":
    sys.exit(main())

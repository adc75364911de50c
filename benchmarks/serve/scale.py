"""What each decider adds, held to a share of a core: `python -m benchmarks.serve.scale --help`."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serve.load import PARAMETERS, for_seconds, prepare
from benchmarks.serve.process import cpu_seconds, service
from benchmarks.serve.traffic import Record, Traffic, World
from benchmarks.serve.wire import play
from eigenbandits.lab.reporting.tables import aligned

_GROUPS = Path("/sys/fs/cgroup")
_PERIOD = 100_000


@dataclass(frozen=True)
class Run:
    """The results for one number of deciders: pairs, seconds, and processor time of deciders and of the others."""

    deciders: int
    pairs: int
    seconds: float
    decider_cpu: float
    learner_cpu: float
    committing_cpu: float
    shares: list[float]

    @property
    def per_core_second(self) -> float:
        """Pairs for each second of a core that the deciders used."""
        return self.pairs / self.decider_cpu


def processes(folder: Path) -> dict[str, int]:
    """Return the processes of a service with deciders, by name, from its log."""
    found = {}
    for line in (folder / "service.log").read_text().splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "process started":
            found[str(event["process"])] = int(event["pid"])
    return found


@contextmanager
def held(pids: Sequence[int], share: float) -> Iterator[bool]:
    """Hold each process to a share of a core by a control group of its own; yields whether that is possible here."""
    root = _GROUPS / "cpu" if (_GROUPS / "cpu").is_dir() else _GROUPS
    made: list[tuple[Path, int]] = []
    try:
        for pid in pids:
            group = root / f"eigenbandits-scale-{os.getpid()}-{pid}"
            group.mkdir()
            made.append((group, pid))
            if (group / "cpu.cfs_quota_us").exists():
                (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
                (group / "cpu.cfs_quota_us").write_text(str(int(share * _PERIOD)))
            else:
                (group / "cpu.max").write_text(f"{int(share * _PERIOD)} {_PERIOD}")
            (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        yield False
    else:
        yield True
    finally:
        for group, pid in made:
            if Path(f"/proc/{pid}").exists():
                (root / "cgroup.procs").write_text(str(pid))
            group.rmdir()


def run(world: World, deciders: int, args: argparse.Namespace) -> Run:
    """Measure one number of deciders."""
    options = ["--deciders", str(deciders), *(["--database", args.database] if args.database else [])]
    with tempfile.TemporaryDirectory() as place, service(Path(place) / "data", *options) as running:
        time.sleep(2.0)
        prepare(running.url, world, PARAMETERS)
        time.sleep(1.0)
        pids = processes(running.folder)
        mine = [pid for name, pid in pids.items() if name.startswith("decider")]
        # PostgreSQL commits in processes of its own, which are not counted either.
        others = [pids["learner"], *([pids["committing"]] if "committing" in pids else [])]
        connections = args.connections * deciders

        def load(seconds: float, seed: int) -> Record:
            record, until = Record(), for_seconds(seconds)
            traffic = Traffic(world, record, seed=seed)
            play(running.address, [traffic.pairs(until) for _ in range(connections)])
            return record

        # Past the rounds in which the subspace observes every set, and the compiled code is loaded.
        load(args.warmup, 0)
        with held(mine, args.share) as possible:
            if not possible:
                print("control groups cannot be used here: the deciders are not held back", flush=True)
            before, start = [cpu_seconds(pid) for pid in mine + others], time.perf_counter()
            record = load(args.seconds, 1)
            seconds = time.perf_counter() - start
            used = [cpu_seconds(pid) - then for pid, then in zip(mine + others, before, strict=True)]
    if record.refused:
        print(f"refused: {record.refused}", flush=True)
    own, (learned, *committed) = used[:deciders], used[deciders:]
    shares = [one / seconds for one in own]
    return Run(deciders, record.pairs, seconds, sum(own), learned, sum(committed), shares)


def table(runs: Sequence[Run]) -> str:
    """Return the table: rates, and what a pair costs, relative to the first row."""
    head = ["deciders", "pairs\nper second", "cores used", "µs of a\ndecider", "µs of the\nlearner"]
    head += ["µs of\ncommitting", "pairs per\ncore-second", "of linear"]
    first = runs[0].per_core_second
    body = [
        [
            str(one.deciders),
            f"{one.pairs / one.seconds:,.0f}",
            f"{sum(one.shares):.2f} ({min(one.shares):.2f} – {max(one.shares):.2f} each)",
            f"{1e6 / one.per_core_second:,.0f}",
            f"{1e6 * one.learner_cpu / one.pairs:,.0f}",
            f"{1e6 * one.committing_cpu / one.pairs:,.0f}",
            f"{one.per_core_second:,.0f}",
            f"{one.per_core_second / first:.2f}",
        ]
        for one in runs
    ]
    return aligned(head, body)


def main() -> None:
    """Run all numbers of deciders and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deciders", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--share", type=float, default=0.1, help="share of a core for each decider")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warmup", type=float, default=8.0)
    parser.add_argument("--connections", type=int, default=4, help="connections for each decider")
    parser.add_argument("--database", default="", help="postgresql://… instead of SQLite")
    args = parser.parse_args()
    world = World()
    runs = []
    for count in args.deciders:
        runs.append(run(world, count, args))
        print(table(runs[-1:]), flush=True)
    print(table(runs))


if __name__ == "__main__":
    main()

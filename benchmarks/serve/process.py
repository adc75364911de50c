"""The service as a process of its own, started for a measurement and watched through /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PLAIN = ["-c", "from eigenbandits.cli import main; main()"]
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Service:
    """A running service: where it listens, and what the kernel says of its process."""

    process: subprocess.Popen[str]
    address: tuple[str, int]
    folder: Path

    @property
    def url(self) -> str:
        """Return its address as a client takes it."""
        return f"http://{self.address[0]}:{self.address[1]}"

    def cpu_seconds(self) -> float:
        """Return the processor time that its processes have used so far, of their own and of the kernel for them."""
        return sum(map(cpu_seconds, family(self.process.pid)))

    def memory(self) -> int:
        """Return the bytes of memory that its processes use, with pages that several share counted once (PSS)."""
        return sum(map(memory, family(self.process.pid)))

    def open_files(self) -> int:
        """Return how many files and sockets its processes hold open."""
        folders = [f"/proc/{pid}/fd" for pid in family(self.process.pid)]
        return sum(len(os.listdir(folder)) for folder in folders)  # noqa: PTH208 - only their number is wanted

    def on_disk(self) -> int:
        """Return the bytes in its folder."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far, of its own and of the kernel for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> int:
    """Return the bytes of memory that a process uses, with its share of the pages that others use as well."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def family(pid: int) -> list[int]:
    """Return a process and all that it has started."""
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in started for one in family(int(child)))]


@contextmanager
def service(folder: Path, *options: str, program: list[str] | None = None, wait: float = 60.0) -> Iterator[Service]:
    """Start the service on a free port of this machine, and stop it at the end.

    Parameters
    ----------
    folder
        Its folder; its log goes there too, as service.log.
    *options
        More options of `eigenbandits serve`.
    program
        What Python is to run in place of the command line.
    wait
        Seconds that it may take to listen, and to stop.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, *(program or PLAIN), "serve", "--folder", str(folder), "--port", "0", *options]
    # Many small products in one thread are faster than the same in two that wait for each other.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with (folder / "service.log").open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        try:
            assert process.stdout is not None
            host, _, port = _listening(process.stdout, folder, wait).rpartition("//")[2].strip().rpartition(":")
            yield Service(process, (host, int(port)), folder)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(wait)
                except subprocess.TimeoutExpired:
                    process.kill()
            process.wait()


def _listening(output: IO[str], folder: Path, wait: float) -> str:
    stop = time.monotonic() + wait
    while time.monotonic() < stop:
        line = output.readline()
        if line.startswith("listening on"):
            return line
        if not line:
            break
    raise RuntimeError(f"the service did not start; {folder / 'service.log'} says why.")

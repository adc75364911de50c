"""Run the command line with a sampler beside it: `python -m benchmarks.serve.profiled OUT.json serve ...`."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from eigenbandits.cli import main
from eigenbandits.files import write_whole

PAUSE = 0.001
# The first of these in a file's path says whose time it is, looked for from the innermost call outwards.
OWNERS = {
    "/eigenbandits/serve/storage/": "database",
    "/eigenbandits/serve/": "the service's own code",
    "/eigenbandits/": "choosing and learning",
    "/uvicorn/": "uvicorn",
    "/httptools/": "uvicorn",
    "/h11/": "uvicorn",
    "/starlette/": "Starlette",
    "/asyncio/": "event loop",
    "/selectors.py": "event loop",
}


class Sampler(threading.Thread):
    """Looks at all threads every few milliseconds, and books the processor time that each has used since."""

    def __init__(self, target: Path) -> None:
        super().__init__(daemon=True, name="sampler")
        self.target = target
        self.owners: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        # Nanoseconds of each thread that are booked already.
        self._used: dict[int, int] = {}

    def run(self) -> None:
        """Sample until the process ends, however it ends."""
        written = time.monotonic()
        while True:
            time.sleep(PAUSE)
            if time.monotonic() - written > 1.0:
                self._write()
                written = time.monotonic()
            natives = {thread.ident: thread.native_id for thread in threading.enumerate() if thread is not self}
            for ident, frame in sys._current_frames().items():
                native = natives.get(ident)
                if native is not None:
                    self._book(native, frame)

    def _book(self, native: int, frame: FrameType) -> None:
        try:
            used = int(Path(f"/proc/self/task/{native}/schedstat").read_bytes().split()[0])
        except (OSError, IndexError):
            return
        spent = used - self._used.setdefault(native, used)
        # A thread that waits by now has worked since the last look: what it was at shows when it is met at work again.
        if spent and not frame.f_code.co_filename.endswith("/threading.py"):
            owner, place = _owner(frame)
            self._used[native] = used
            self.owners[owner] += spent
            self.places[place] += spent

    def _write(self) -> None:
        found = {
            name: {key: spent / 1e9 for key, spent in counted.most_common(60)}
            for name, counted in (("owners", self.owners), ("places", self.places))
        }
        write_whole(self.target, json.dumps(found, indent=1).encode())


def _owner(frame: FrameType | None) -> tuple[str, str]:
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith("<frozen importlib"):
            break
        for part, owner in OWNERS.items():
            if part in path:
                return owner, f"{path[path.rfind(part.split('/')[1]) :]}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "starting, and all else", "starting, and all else"


if __name__ == "__main__":
    Sampler(Path(sys.argv.pop(1))).start()
    main()

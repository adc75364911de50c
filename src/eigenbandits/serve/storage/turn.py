"""The right to write to an SQLite database, which only one connection has at a time."""

import fcntl
import os
import threading
from pathlib import Path

from eigenbandits.serve.errors import StorageError


class Turn:
    """A file lock, which the operating system releases when the process ends, however it ends.

    SQLite's own busy handler checks its lock again and again, and sleeps for up to a tenth of a second in between, in
    which dozens of others could commit; checking more often costs processor time, more with each process that waits.
    So the operating system wakes whoever is next. Such a wait cannot be given up, so a thread of its own does it.

    Parameters
    ----------
    path
        The file; created if missing.
    patience
        Seconds to wait.
    """

    def __init__(self, path: Path, patience: float) -> None:
        self.taken = False
        self._patience = patience
        self._change = threading.Condition()
        # What the thread does: it waits for the lock while this is set, and passes it on if nobody wants it any more.
        self._wanted = self._waiting = False
        self._thread: threading.Thread | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"cannot open {path} ({error.strerror})") from error

    def take(self) -> None:
        """Wait until no other connection is writing."""
        if self._file < 0:
            raise StorageError("the connection is closed")
        with self._change:
            if self.taken:
                return
            if not self._waiting:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._wait()
                else:
                    self.taken = True
                    return
            self._wanted = True
            if not self._change.wait_for(lambda: self.taken, self._patience):
                self._wanted = False
                raise StorageError(f"another process has been writing to the database for {self._patience:g} seconds")

    def _wait(self) -> None:
        self._waiting = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="turn", daemon=True)
            self._thread.start()
        self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._file < 0)
                file = self._file
            if file < 0:
                return
            fcntl.flock(file, fcntl.LOCK_EX)
            with self._change:
                # Closing the file in the meantime has released the lock.
                if self._file >= 0:
                    self._waiting = False
                    self.taken = self._wanted
                    if not self.taken:
                        fcntl.flock(file, fcntl.LOCK_UN)
                self._wanted = False
                self._change.notify_all()

    def end(self) -> None:
        """Let other connections write."""
        if self.taken:
            self.taken = False
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock permanently and close its file."""
        with self._change:
            if self._file >= 0:
                os.close(self._file)
                self._file, self.taken = -1, False
                self._change.notify_all()

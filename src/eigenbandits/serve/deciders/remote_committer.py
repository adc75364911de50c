"""`RemoteCommitter`: a decider's committer, which has the committing process write its batches."""

import asyncio
import socket
import time
from contextlib import suppress

from eigenbandits.serve.deciders.batch import DeciderBatch
from eigenbandits.serve.deciders.commit_process import AT_ONCE, Messages, message_of
from eigenbandits.serve.deciders.entries import Outcome
from eigenbandits.serve.errors import StorageError, unavailable
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.commands import reject
from eigenbandits.serve.writer.committer import NO_STORAGE, Committer

# Seconds to wait for a connection; the socket is open as long as the service runs, whoever accepts from it.
_PATIENCE = 10.0
# Seconds between two looks whether the event loop, which receives the answers, still runs.
_LOOK = 1.0


class RemoteCommitter(Committer):
    """Sends batches to the committing process, in order, and resolves their commands when they are on disk.

    The event loop whose requests these are sends and receives, so that no other thread has to wake up.

    Parameters
    ----------
    database, metrics
        As for `Committer`.
    address
        The path of the committing process's socket.
    """

    _waiting: list[DeciderBatch]  # type: ignore[assignment]

    def __init__(self, database: Database, metrics: Metrics, address: str) -> None:
        super().__init__(database, metrics)
        self._address = address
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._messages, self._unsent = Messages(), bytearray()

    def start(self, journal: Journal) -> None:
        """Connect, or connect again."""
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(_PATIENCE)
        try:
            connected.connect(self._address)
        except OSError as error:
            connected.close()
            raise StorageError(f"the committing process does not answer ({error})") from error
        connected.setblocking(False)
        with self._changed:
            self._socket, self._error, self._loop = connected, None, None
            self._messages, self._unsent = Messages(), bytearray()

    def submit(self, batch: Batch) -> None:
        """Send a batch; raise if an earlier one failed."""
        assert isinstance(batch, DeciderBatch)
        loop = batch.loop
        running = asyncio._get_running_loop() is loop
        message = message_of(tuple(batch.entries()))
        with self._changed:
            # The event loop must not wait for what only it can receive.
            self._changed.wait_for(lambda: self._error or running or not self.full)
            self._raise_if_failed()
            connected = self._socket
            assert connected is not None
            if not self._waiting:
                self._started = time.monotonic()
            # Both in the same order: answers are matched with batches by their order.
            self._waiting.append(batch)
            self._unsent += message
        if running:
            self._send(connected)
        else:
            try:
                loop.call_soon_threadsafe(self._send, connected)
            except RuntimeError as error:
                raise StorageError("nobody waits for the answer any more") from error

    def flush(self) -> None:
        """Wait until everything submitted is on disk; raise if it failed."""
        with self._changed:
            while not self._changed.wait_for(lambda: self._error or not self._waiting, _LOOK):
                if self._waiting[0].loop.is_closed():
                    raise StorageError("nobody waits for the answer any more")
            self._raise_if_failed()

    def abort(self) -> list[Batch]:
        """Abandon the batches in flight, which have changed nothing here."""
        self._fail(self._socket, StorageError("given up"))
        return []

    def close(self) -> None:
        """Disconnect."""
        self.abort()

    # In the event loop, but for `_fail`

    def _send(self, connected: socket.socket) -> None:
        """Send as much as possible now, and the rest when there is room."""
        if connected is not self._socket:
            return  # its batches have been rejected
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(connected, self._receive, connected)
        try:
            with self._changed:
                while self._unsent:
                    del self._unsent[: connected.send(self._unsent)]
        except BlockingIOError:
            self._loop.add_writer(connected, self._send, connected)
        except OSError as error:
            self._fail(connected, error)
        else:
            self._loop.remove_writer(connected)

    def _receive(self, connected: socket.socket) -> None:
        try:
            data = connected.recv(AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._fail(connected, StorageError("the committing process has ended"))
            return
        for message in self._messages.read(data):
            batch, started = self._waiting[0], self._started
            try:
                batch.conclude(Outcome(*message))
            except Exception as error:
                self._fail(connected, error)
                raise
            with self._changed:
                self._waiting.pop(0)
                self._started = time.monotonic() if self._waiting else None
                self._changed.notify_all()
            self._metrics.commit_seconds.observe(time.monotonic() - (started or 0.0))
            batch.acknowledge()

    def _fail(self, connected: socket.socket | None, error: Exception) -> None:
        """Disconnect and reject everything in flight; the writer connects again."""
        with self._changed:
            if connected is None or connected is not self._socket:
                return
            self._error, self._socket, loop = error, None, self._loop
            lost, self._waiting, self._started = self._waiting, [], None
            self._changed.notify_all()
        reject((command for batch in lost for command in batch.commands), unavailable(NO_STORAGE))
        if loop is None or loop.is_closed():
            connected.close()
        elif asyncio._get_running_loop() is loop:
            _disconnect(loop, connected)
        else:
            with suppress(RuntimeError):  # it has been closed in the meantime, and everything with it
                loop.call_soon_threadsafe(_disconnect, loop, connected)


def _disconnect(loop: asyncio.AbstractEventLoop, connected: socket.socket) -> None:
    loop.remove_reader(connected)
    loop.remove_writer(connected)
    connected.close()

"""The committing process: writes what the deciders of one machine log, in transactions that they share.

SQLite lets one process write at a time. Where each decider writes by itself, all others wait for its disk, and read
again the pages that it has changed; here the entries of all deciders that are waiting share one transaction.
"""

import marshal
import selectors
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from eigenbandits.serve.deciders.entries import Entries, Outcome, add
from eigenbandits.serve.storage import Connection, Database
from eigenbandits.serve.storage.lane_journal import LaneJournal

# Each message is its length, and that many bytes of `marshal`: both ends are the same program on the same machine.
LENGTH = struct.Struct("<Q")
# Bytes read from a connection at a time.
AT_ONCE = 2**20
# Seconds for which a decider may leave its answers unread.
_PATIENCE = 1.0


class Messages:
    """The messages in a stream of bytes.

    Examples
    --------
    >>> messages = Messages()
    >>> sent = message_of((1, "a")) + message_of(2.5)
    >>> messages.read(sent[:10]), messages.read(sent[10:])
    ([], [(1, 'a'), 2.5])
    """

    def __init__(self) -> None:
        self._unread = bytearray()

    def read(self, data: bytes) -> list[Any]:
        """Return the messages that are complete with these bytes."""
        self._unread += data
        found, start = [], 0
        while len(self._unread) >= start + LENGTH.size:
            end = start + LENGTH.size + LENGTH.unpack_from(self._unread, start)[0]
            if len(self._unread) < end:
                break
            found.append(marshal.loads(memoryview(self._unread)[start + LENGTH.size : end]))
            start = end
        del self._unread[:start]
        return found


def message_of(content: Any) -> bytes:
    """Return the bytes of a message."""
    encoded = marshal.dumps(content)
    return LENGTH.pack(len(encoded)) + encoded


@dataclass(eq=False)
class _Peer:
    """A decider's connection."""

    socket: socket.socket
    messages: Messages = field(default_factory=Messages)
    entries: list[Entries] = field(default_factory=list)


class CommitProcess:
    """Commits what arrives on its connections and answers what came of it, once it is on disk.

    It holds no state that matters. If anything fails, it ends, and the deciders learn that from their connections.

    Parameters
    ----------
    database
        The database.
    listening
        The socket to which the deciders connect.
    """

    def __init__(self, database: Database, listening: socket.socket) -> None:
        self._database = database
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ)
        self._stopping, self._wake = socket.socketpair()
        self._selector.register(self._stopping, selectors.EVENT_READ)

    def run(self) -> None:
        """Commit until stopped."""
        connection = self._database.connect()
        try:
            while not self._receive():
                self._commit(connection)
        finally:
            connection.close()
            self._database.release()
            for key in list(self._selector.get_map().values()):
                if isinstance(key.data, _Peer):
                    key.data.socket.close()
            self._selector.close()

    def stop(self) -> None:
        """Stop after the transaction that is being written; may be called in any thread or signal handler."""
        self._wake.send(b"x")

    def _peers(self) -> list[_Peer]:
        return [key.data for key in self._selector.get_map().values() if isinstance(key.data, _Peer)]

    def _receive(self) -> bool:
        """Wait for entries, and read whatever has arrived from all deciders; return whether to stop."""
        for key, _ in self._selector.select():
            if key.fileobj is self._stopping:
                return True
            if key.data is None:
                accepted = self._listening.accept()[0]
                # One that does not read its answers must not hold up the others.
                accepted.settimeout(_PATIENCE)
                self._selector.register(accepted, selectors.EVENT_READ, _Peer(accepted))
                continue
            peer: _Peer = key.data
            try:
                data = peer.socket.recv(AT_ONCE)
            except OSError:
                data = b""
            if not data:
                # Everything that has arrived from it has been written, but for a part of a message.
                self._drop(peer)
                continue
            peer.entries += [Entries(*one) for one in peer.messages.read(data)]
        return False

    def _drop(self, peer: _Peer) -> None:
        self._selector.unregister(peer.socket)
        peer.socket.close()

    def _commit(self, connection: Connection) -> None:
        peers = [peer for peer in self._peers() if peer.entries]
        if not peers:
            return
        with connection.transaction():
            waiting = [entries for peer in peers for entries in peer.entries]
            outcomes = iter(add(self._database, LaneJournal(connection), waiting))
        self._answer(peers, outcomes)
        self._database.finish_checkpoint(connection)

    def _answer(self, peers: Sequence[_Peer], outcomes: Iterator[Outcome]) -> None:
        for peer in peers:
            answers = b"".join(message_of(tuple(next(outcomes))) for _ in peer.entries)
            peer.entries.clear()
            try:
                peer.socket.sendall(answers)
            except OSError:
                self._drop(peer)

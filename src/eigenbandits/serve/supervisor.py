"""The supervisor of `serve --deciders N`: N deciders behind one port, a learner, and on SQLite a committing process."""

import dataclasses
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from eigenbandits.serve import logs
from eigenbandits.serve.deciders.commit_process import CommitProcess
from eigenbandits.serve.deciders.decider import Decider
from eigenbandits.serve.errors import InUseError, StorageError
from eigenbandits.serve.learner.learner import Learner
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.server import Server, bind, url_of
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import database_of

# The exit code of a process that would fail again, upon which the supervisor gives up.
_HOPELESS = 3
# Seconds between two starts of the same process, and seconds to wait for a process to end before it is killed.
_PAUSE, _PATIENCE = 0.5, 90.0
# A process that has run for this many seconds can start with these settings, and is restarted whatever ends it.
_PROOF = 30.0


class Supervisor:
    """Starts the processes, restarts those that end, and stops all of them on request.

    The port is opened here, with one socket per decider, over which the kernel spreads the connections. When a decider
    ends, its socket stays open: new connections wait there until the decider has been restarted.

    Attributes
    ----------
    url
        The address on which the deciders listen.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.url = ""
        self._context: SpawnContext = multiprocessing.get_context("spawn")
        self._processes: dict[str, SpawnProcess] = {}
        self._stopping = False
        self._sockets: list[socket.socket] = []
        # Of the committing process, in a folder that only this user may enter; its path must be short.
        self._committing: socket.socket | None = None
        self._folder = ""

    def start(self) -> None:
        """Open the port and start all processes."""
        # The tables are created once, before several processes try.
        try:
            database_of(self.settings).connect().close()
        except StorageError as error:
            log_event("storage failed", reason=str(error))
        # First with a plain socket: if another program listens on the port, a shared socket might join it.
        bind(self.settings).close()
        settings = self.settings
        for _ in range(self.settings.deciders):
            listening = bind(settings, shared=True)
            listening.listen(1024)
            self._sockets.append(listening)
            settings = dataclasses.replace(settings, port=listening.getsockname()[1])
        self.url = url_of(settings, self._sockets[0])
        names = ["learner", *(f"decider-{i}" for i in range(self.settings.deciders))]
        if not self.settings.database:
            self._folder = tempfile.mkdtemp(prefix="eigenbandits-")
            self._committing = socket.socket(socket.AF_UNIX)
            self._committing.bind(f"{self._folder}/committing")
            self._committing.listen(1024)
            names.insert(0, "committing")
        for name in names:
            self._start(name)

    def _start(self, name: str) -> None:
        role, _, number = name.partition("-")
        target: Callable[..., None]
        arguments: tuple[Any, ...]
        if role == "decider":
            address = "" if self._committing is None else str(self._committing.getsockname())
            target, arguments = _decide, (self.settings, self._sockets[int(number)], address)
        else:
            target, arguments = (_learn, ()) if role == "learner" else (_commit, (self._committing,))
            arguments = (self.settings, *arguments)
        process = self._context.Process(target=target, args=arguments, name=name)
        process.start()
        self._processes[name] = process
        log_event("process started", process=name, pid=process.pid)

    def run(self) -> int:
        """Watch the processes until a signal arrives; return the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        started = dict.fromkeys(self._processes, time.monotonic())
        proven: set[str] = set()
        code = 0
        while not self._stopping:
            wait([process.sentinel for process in self._processes.values()], timeout=0.2)
            for name, process in list(self._processes.items()):
                if process.is_alive() or self._stopping:
                    if time.monotonic() > started[name] + _PROOF:
                        proven.add(name)
                    continue
                log_event("process ended", process=name, code=process.exitcode)
                if process.exitcode == _HOPELESS and name not in proven:
                    code, self._stopping = 1, True
                    break
                time.sleep(max(0.0, started[name] + _PAUSE - time.monotonic()))
                started[name] = time.monotonic()
                self._start(name)
        self.stop()
        return code

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def stop(self) -> None:
        """Stop the deciders, then what writes for them, then the learner, which follows their last writes."""
        for listening in self._sockets:
            listening.close()
        for role in ("decider", "committing", "learner"):
            group = [process for name, process in self._processes.items() if name.startswith(role)]
            for process in group:
                process.terminate()
            for process in group:
                process.join(_PATIENCE)
                if process.is_alive():
                    process.kill()
        if self._committing is not None:
            self._committing.close()
            shutil.rmtree(self._folder, ignore_errors=True)


def _decide(settings: Settings, listening: socket.socket, committing: str) -> None:
    _serve(Server(settings, role=partial(Decider, committing=committing), listening=listening), settings)


def _commit(settings: Settings, listening: socket.socket) -> None:
    _begin(settings)
    process = CommitProcess(database_of(settings), listening)
    signal.signal(signal.SIGTERM, lambda *_: process.stop())
    try:
        process.run()
    except StorageError as error:
        log_event("storage failed", logging.ERROR, reason=str(error))
        raise SystemExit(1) from error


def _learn(settings: Settings) -> None:
    # Only this machine sends it requests, and its health must always be available.
    _serve(Server(dataclasses.replace(settings, host="127.0.0.1", port=0), role=Learner), settings)


def _begin(settings: Settings) -> None:
    logs.to_stderr(settings.log_level)
    # Ctrl-C reaches all processes; the supervisor decides which ends when.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _serve(server: Server, settings: Settings) -> None:
    _begin(settings)
    try:
        server.start()
    except InUseError as error:
        log_event("cannot start yet", reason=str(error))
        raise SystemExit(1) from error
    except (ValueError, OSError) as error:
        log_event("cannot start", reason=str(error))
        raise SystemExit(_HOPELESS) from error
    server.run()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)

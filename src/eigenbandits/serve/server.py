"""The server: in the foreground, or in a thread for tests and examples."""

import errno
import gc
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from eigenbandits.serve.clock import Clock
from eigenbandits.serve.http.application import application
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.protocol import limited
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import database_of
from eigenbandits.serve.writer.writer import Writer


class Server:
    """A running service.

    Attributes
    ----------
    writer
        Makes decisions and learns.
    url
        The address on which it listens.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        role: Callable[..., Writer] = Writer,
        listening: socket.socket | None = None,
    ) -> None:
        self.settings = settings
        self.writer = role(settings, database_of(settings), clock=clock)
        self.url = ""
        self._socket = listening
        self._gateway = Gateway(self.writer)

    def start(self) -> None:
        """Open the port and the database; raise ValueError if anyone would have access.

        The policies are loaded afterward; meanwhile /health already answers, and everything else responds with 503.
        """
        if self._socket is None:
            self._socket = bind(self.settings)
        try:
            self.writer.start()
            if not self.settings.loopback and not self.writer.registry.keys.known:
                raise ValueError("the database does not answer, so the keys cannot be read; start the database first.")
            if not self.settings.loopback and self.writer.registry.keys.empty:
                raise ValueError(
                    f"host is {self.settings.host} and there is no key, so anyone would have access; "
                    "create a key with `eigenbandits keys create`, or listen on 127.0.0.1."
                )
            # From here on, connections wait instead of being refused.
            self._socket.listen(1024)
        except BaseException:
            self.stop()
            raise
        self.url = url_of(self.settings, self._socket)
        self.http = uvicorn.Server(
            uvicorn.Config(
                application(self._gateway),
                http=limited(self.settings.request_timeout),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                limit_concurrency=self.settings.max_connections,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=int(self.settings.request_timeout) + 1,
            )
        )

    def run(self) -> None:
        """Serve until stopped by a signal or by `http.should_exit`."""
        assert self._socket is not None
        if threading.current_thread() is threading.main_thread():
            # The HTTP server stops at a signal and then raises it again, which must not end the process before the
            # database is closed.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: None)
            threading.Thread(target=self._freeze, name="freeze", daemon=True).start()
        try:
            self.http.run(sockets=[self._socket])
        finally:
            self.stop()

    def _freeze(self) -> None:
        # Objects loaded by now will stay; collecting them over and over would make requests wait.
        self.writer.loaded.wait()
        gc.collect()
        gc.freeze()

    def stop(self) -> None:
        """Close the port and the database."""
        if self._socket is not None:
            self._socket.close()
        self._gateway.close()
        self.writer.stop()


def bind(settings: Settings, shared: bool = False) -> socket.socket:
    """Return a socket bound to the port; if shared, the kernel spreads connections over all sockets that share it."""
    host, port = settings.host, settings.port
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            advice = "another program is listening there; stop it, or choose another port with --port"
        elif error.errno == errno.EACCES:
            advice = "ports below 1024 require more privileges; choose another port with --port"
        else:
            advice = "check the host and the port"
        raise OSError(f"cannot listen on {host}, port {port} ({error.strerror}); {advice}.") from error
    return listening


def url_of(settings: Settings, listening: socket.socket) -> str:
    """Return the address on which a socket listens."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


@contextmanager
def running(settings: Settings, clock: Clock | None = None, role: Callable[..., Writer] = Writer) -> Iterator[Server]:
    """Run a service in a thread for as long as the block lasts.

    Examples
    --------
    >>> import json, tempfile
    >>> from urllib.request import urlopen
    >>> from eigenbandits.serve import Settings, running
    >>> with tempfile.TemporaryDirectory() as folder, running(Settings(folder=folder, port=0)) as server:
    ...     json.load(urlopen(server.url + "/ready"))
    {'ready': True, 'reasons': []}
    """
    server = Server(settings, clock, role)
    server.start()
    thread = threading.Thread(target=server.run, name="http", daemon=True)
    thread.start()
    while not server.http.started and thread.is_alive():
        time.sleep(0.005)
    server.writer.loaded.wait()
    try:
        yield server
    finally:
        server.http.should_exit = True
        thread.join()

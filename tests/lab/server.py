"""A server of our own for tests of fetching: it serves bytes by path, and can end a connection too early."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Serves bytes by path; `cuts` holds after how many bytes the connection ends, once for each entry."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {}
        self.cuts: list[int] = []
        self.asked: list[tuple[str, str | None]] = []
        self.ranges = True

    def address(self, folder=""):
        return f"http://127.0.0.1:{self.server_port}/{folder}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        assert isinstance(server, Server)
        begin = self.headers.get("Range")
        server.asked.append((self.path, begin))
        if self.path not in server.content:
            self.send_error(404)
            return
        content = server.content[self.path]
        start = int(begin.removeprefix("bytes=").removesuffix("-")) if begin and server.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = server.cuts.pop(0) if server.cuts else len(content)
        self.wfile.write(content[start:end])

    def log_message(self, *words):
        pass


@contextmanager
def serving() -> Iterator[Server]:
    """Serve in a thread until the block ends."""
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
        thread.join()

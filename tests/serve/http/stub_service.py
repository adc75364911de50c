"""The service's page over numbers that a test has made up, so that what the page draws can be worked out by hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import eigenbandits

PAGE = Path(eigenbandits.__file__).parent / "serve" / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"


class Stub:
    """Answers by path, which a test may change while the page is open."""

    def __init__(self, answers: Mapping[str, Any], key: str | None = None) -> None:
        self.answers = dict(answers)
        self.key = key
        self.url = ""

    def respond(self, path: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """Return status, content type and body."""
        plain = path.partition("?")[0]
        if plain == "/" or plain.startswith("/page/"):
            file = PAGE / (plain.removeprefix("/page/") if plain != "/" else "index.html")
            return 200, KINDS[file.suffix], file.read_bytes()
        if self.key is not None and headers.get("Authorization") != f"Bearer {self.key}":
            return 401, "application/json", b'{"error": {"code": "wrong_key", "message": "This key is not known."}}'
        if plain not in self.answers:
            return 404, "application/json", b'{"error": {"code": "unknown_path", "message": "There is no such path."}}'
        return 200, "application/json", json.dumps(self.answers[plain]).encode()


@contextmanager
def stub(answers: Mapping[str, Any], key: str | None = None) -> Iterator[Stub]:
    """Serve made-up answers on a free port of this machine."""
    made = Stub(answers, key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = made.respond(self.path, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}/"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()

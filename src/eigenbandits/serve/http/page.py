"""The service's web page and its files."""

import mimetypes
from pathlib import Path

from starlette.responses import Response

from eigenbandits.serve.errors import Refusal

FOLDER = Path(__file__).resolve().parents[1] / "page"
# The page loads nothing from other sites and may not be shown in a frame.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class PageHandlers:
    """Handlers of the page, whose files are read once."""

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()}

    async def index(self) -> Response:
        """Return the page."""
        return await self.file("index.html")

    async def icon(self) -> Response:
        """Return the icon, which some browsers request under its old name."""
        return await self.file("icon.svg")

    async def file(self, name: str) -> Response:
        """Return a file of the page."""
        if name not in self._files:
            raise Refusal(404, "unknown_path", "There is no such file.")
        media = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(self._files[name], media_type=media, headers=_HEADERS)

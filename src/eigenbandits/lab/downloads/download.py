"""One file over HTTP, resumed where an earlier attempt ended."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from time import monotonic
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from eigenbandits.lab.errors import DataError

Echo = Callable[[str], object]
_PIECE = 1 << 18
_TIMEOUT_SECONDS = 30.0
_PARTIAL, _PAST_THE_END = 206, 416


class Resumed:
    """A downloader for pooch that keeps a partial download next to the target, as ``NAME.part``.

    At every tenth of the file it reports how much it has, and how long the rest will take.
    """

    def __init__(self, target: Path, echo: Echo) -> None:
        self.part = target.with_name(f"{target.name}.part")
        self.echo = echo

    def __call__(self, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        """Fetch a file to where pooch wants it."""
        have = self.part.stat().st_size if self.part.exists() else 0
        try:
            self._fetch(url, have)
        except HTTPError as error:
            if error.code != _PAST_THE_END or not have:
                raise DataError(
                    f"{url} cannot be fetched: the server answered {error.code} ({error.reason})."
                ) from error
            # The partial file is as long as the whole one or longer: start over.
            self.part.unlink()
            self(url, output_file, pooch)
            return
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise DataError(f"{url} cannot be fetched ({reason}); the same command continues from here.") from error
        shutil.move(self.part, output_file)

    def _fetch(self, url: str, have: int) -> None:
        wanted = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
        with urlopen(wanted, timeout=_TIMEOUT_SECONDS) as answer:
            goes_on = answer.status == _PARTIAL
            have = have if goes_on else 0
            with self.part.open("ab" if goes_on else "wb") as file:
                self._copy(answer, file.write, have, have + int(answer.headers.get("Content-Length") or 0))

    def _copy(self, answer: HTTPResponse, write: Callable[[bytes], int], have: int, total: int) -> None:
        started, first = monotonic(), have
        while piece := answer.read(_PIECE):
            write(piece)
            before, have = have, have + len(piece)
            if have * 10 // max(total, 1) > before * 10 // max(total, 1) and have < total:
                left = (monotonic() - started) * (total - have) / (have - first)
                self.echo(f"{have / 1e6:.1f} of {total / 1e6:.1f} MB, {left:.0f} s left")
        if have < total:
            raise OSError(f"the connection ended after {have:,} of {total:,} bytes")

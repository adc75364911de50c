"""One file over HTTP, resumed where an earlier attempt ended."""

from __future__ import annotations

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


def download(url: str, part: Path, echo: Echo) -> None:
    """Fetch the rest of a file, of which `part` may hold the beginning.

    At every tenth of the file it reports how much it has, and how long the rest will take.
    """
    have = part.stat().st_size if part.exists() else 0
    try:
        _fetch(url, part, have, echo)
    except HTTPError as error:
        if error.code != _PAST_THE_END or not have:
            raise DataError(f"{url} cannot be fetched: the server answered {error.code} ({error.reason}).") from error
        # The partial file is as long as the whole one or longer: start over.
        part.unlink()
        download(url, part, echo)
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url} cannot be fetched ({reason}); the same command continues from here.") from error


def _fetch(url: str, part: Path, have: int, echo: Echo) -> None:
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        resumed = answer.status == _PARTIAL
        have = have if resumed else 0
        with part.open("ab" if resumed else "wb") as file:
            _copy(answer, file.write, have, have + int(answer.headers.get("Content-Length") or 0), echo)


def _copy(answer: HTTPResponse, write: Callable[[bytes], int], have: int, total: int, echo: Echo) -> None:
    started, first = monotonic(), have
    while piece := answer.read(_PIECE):
        write(piece)
        before, have = have, have + len(piece)
        if have * 10 // max(total, 1) > before * 10 // max(total, 1) and have < total:
            left = (monotonic() - started) * (total - have) / (have - first)
            echo(f"{have / 1e6:.1f} of {total / 1e6:.1f} MB, {left:.0f} s left")
    if have < total:
        raise OSError(f"the connection ended after {have:,} of {total:,} bytes")

"""A real browser for tests: Chromium without a window, spoken to in its own protocol through a pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --force-device-scale-factor=1 "
    "--remote-debugging-pipe"
)


class Browser:
    """One tab, what was written to its console, and every address that it asked for."""

    def __init__(self, process: subprocess.Popen[bytes], reader: int, writer: int) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self._held, self._number = b"", 0
        self._session: str | None = None
        self.console: list[str] = []
        self.asked: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                return dict(found["result"])

    def _read(self, wait: float = 30.0) -> dict[str, Any]:
        stop = time.monotonic() + wait
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._reader], [], [], max(0.0, stop - time.monotonic()))
            data = os.read(self._reader, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser does not answer.")
            self._held += data
        text, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        self._note(found.get("method"), found.get("params", {}))
        return found

    def _note(self, method: str | None, told: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.console.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.console.append(told["entry"]["text"] + " " + told["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 30.0) -> None:
        """Wait until an expression is true, on this page or on one that it leads to."""
        stop = time.monotonic() + seconds
        while not self._holds(expression):
            if time.monotonic() > stop:
                raise AssertionError(f"never true: {expression}\n{self.run('document.body.innerText')}\n{self.console}")
            time.sleep(0.05)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.run(f"!!({expression})"))
        except RuntimeError as error:
            if "navigated" in str(error):
                return False
            raise

    def open(self, url: str) -> None:
        """Go to an address and wait until the page is there."""
        self.call("Page.navigate", url=url)
        # The reference is three megabytes, which take long on a machine that has other work.
        self.wait_for(f"document.readyState === 'complete' && location.href.startsWith({json.dumps(url)})", 120.0)

    def look(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Give the window a width, and the reader a liking for light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path) -> bytes:
        """Take a picture of the whole page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(content := base64.b64decode(found["data"]))
        return content


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser, or skip the test where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium.")
    to_it, writer = os.pipe()
    reader, from_it = os.pipe()
    # Chromium reads from descriptor 3 and writes to 4; the shell puts the pipes there.
    command = f'exec "$0" {OPTIONS} --user-data-dir="$1" 3<&{to_it} 4>&{from_it}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", command, program, str(profile)],
        pass_fds=(to_it, from_it),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_it)
    os.close(from_it)
    try:
        yield Browser(process, reader, writer)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(reader)
        os.close(writer)

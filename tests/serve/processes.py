"""A server in a process of its own, and a PostgreSQL cluster of its own, for tests that kill them."""

from __future__ import annotations

import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import eigenbandits


class ServerProcess:
    """`eigenbandits serve` in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = [str(option) for option in options]
        self.logs = folder.parent / f"{folder.name}.log"
        self.process: Any = None
        self.url = ""

    def start(self) -> None:
        command = [sys.executable, "-c", "from eigenbandits.cli import main; main()", "serve"]
        command += ["--folder", str(self.folder), "--port", "0", *self.options]
        with self.logs.open("ab") as logs:
            # The package under test, which need not be the one that is installed.
            source = str(Path(eigenbandits.__file__).parents[1])
            environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": source}
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=logs, env=environment)
        line = self.process.stdout.readline().decode()
        assert line.startswith("listening on http://"), self.logs.read_text()
        self.url = line.split()[-1]
        # Until the policies are loaded.
        while any("starting" in reason for reason in self.call("GET", "/ready")[1]["reasons"]):
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(30)
        self.process.stdout.close()
        return code

    def limit_files(self, size: int) -> None:
        """Let no file grow beyond a size: what a full disk looks like from inside."""
        hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size if size >= 0 else hard, hard))

    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.logs.read_text().splitlines() if line.startswith("{")]

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, content, {"content-type": "application/json"}, method=method)
        try:
            with urlopen(request, timeout=20) as answer:
                raw = answer.read()
                return answer.status, json.loads(raw) if raw[:1] == b"{" else raw
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def wait_ready(self, wanted: bool = True, seconds: float = 60.0) -> float:
        begun = time.monotonic()
        while (self.call("GET", "/ready")[0] == 200) is not wanted:
            assert time.monotonic() - begun < seconds, self.logs.read_text()
            time.sleep(0.05)
        return time.monotonic() - begun


class PostgresCluster:
    """A cluster in a temporary folder, reached by a socket in it, run by a user without privileges."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="eigenbandits-postgres-"))
        self._user: dict[str, Any] = {}
        name = pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root.
            other = pwd.getpwnam("nobody")
            name = other.pw_name
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self._user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        self.address = f"postgresql://{name}@/postgres?host={self.folder}"
        self._data = self.folder / "data"
        command = [_program("initdb"), "-D", str(self._data), "-A", "trust", "-U", name, "--no-sync", "-E", "UTF8"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self._user)
        self._process: Any = None
        self._serving: dict[str, list[int]] = {}
        self.start()

    def start(self) -> None:
        command = [_program("postgres"), "-D", str(self._data), "-k", str(self.folder), "-c", "listen_addresses="]
        with (self.folder / "postgres.log").open("ab") as logs:
            self._process = subprocess.Popen(command, stdout=logs, stderr=logs, cwd=self.folder, **self._user)
        import psycopg

        deadline = time.monotonic() + 30.0
        while True:
            try:
                psycopg.connect(self.address).close()
                return
            except psycopg.Error:
                assert time.monotonic() < deadline, (self.folder / "postgres.log").read_text()
                time.sleep(0.05)

    def crash(self) -> None:
        """Go away at once, without ending anything in order."""
        import signal

        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def signal_all(self, name: str, signal_: int) -> None:
        """Send a signal to every process that serves a database, as it was at the first call."""
        import psycopg

        if name not in self._serving:
            with psycopg.connect(self.address) as connection:
                sql = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
                self._serving[name] = [row[0] for row in connection.execute(sql, (name,))]
        for pid in self._serving[name]:
            os.kill(pid, signal_)

    def new_database(self, name: str) -> str:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address.replace("/postgres?", f"/{name}?")

    def close(self) -> None:
        if self._process.poll() is None:
            self.crash()
        shutil.rmtree(self.folder)


def _program(name: str) -> str:
    # Debian keeps the programs of the server off the path.
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, places))) or ""


def postgres_or_skip() -> PostgresCluster:
    pytest.importorskip("psycopg", reason='PostgreSQL needs psycopg: pip install "eigenbandits[serve-postgres]"')
    if not (_program("initdb") and _program("postgres")):
        pytest.skip("there is no PostgreSQL server here; on Debian: apt-get install postgresql")
    return PostgresCluster()

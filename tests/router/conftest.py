"""Servers for the tests, on this machine only."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest


class Server:
    """An upstream in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, name, pause=0.0):
        self.name, self.pause = name, pause
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self):
        script = Path(__file__).parent / "upstream.py"
        self.process = subprocess.Popen([sys.executable, "-S", script, str(self.port), self.name, str(self.pause)])
        for _ in range(400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError(f"{self.name} has not started")

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server():
    """Give what starts upstreams by name."""
    started = []

    def start(name, pause=0.0):
        started.append(Server(name, pause))
        return started[-1]

    yield start
    for one in started:
        one.kill()

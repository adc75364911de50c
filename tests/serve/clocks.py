"""Clocks that tests set, and waiting for what the service does by itself."""

from __future__ import annotations

import time

from eigenbandits.serve.clock import Clock


class ManualClock:
    """A wall clock and a steady clock that a test sets: the first may jump, the second only advances."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 50.0

    def advance(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def made(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.steady)


def eventually(client, **expected):
    deadline = time.monotonic() + 20.0
    while True:
        told = client.get("/v1/policies/p").json()
        if {key: told[key] for key in expected} == expected:
            return
        assert time.monotonic() < deadline, told
        time.sleep(0.05)

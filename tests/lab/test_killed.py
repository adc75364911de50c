"""Killed with -9 at random moments and started again, an experiment ends with the very table of one left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import eigenbandits as eb

MANY = """
name = "many"
rounds = 400
seeds = 4
record = {points = 10}
[policies]
PSLB = {noise = 0.5}
OFUL = {noise = 0.5}
[environments]
plain = {kind = "LowRank", dim = 20, rank = 2, arms = 5}
mean = {kind = "LowRank", dim = 20, rank = 2, arms = 5, mean = 1.0}
"""


def start(path, out):
    script = f"import eigenbandits as eb; eb.Experiment.read({str(path)!r}).run({str(out)!r}, progress='none')"
    return subprocess.Popen([sys.executable, "-c", script], start_new_session=True)


def count(out):
    return len(list((out / "cells").glob("*.parquet")))


def wait_for_another_cell(process, out, patience=60.0):
    had, end = count(out), time.monotonic() + patience
    while count(out) == had and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def test_killed_twice_the_table_is_the_same_bit_for_bit(tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(MANY)
    eb.Experiment.read(path).run(tmp_path / "alone", progress="none")
    out, kills = tmp_path / "killed", 0
    moments = random.Random(0)
    for _ in range(2):
        process = start(path, out)
        wait_for_another_cell(process, out)
        time.sleep(moments.uniform(0.0, 0.1))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait(timeout=60)
    assert kills >= 1
    assert 1 <= count(out) < 16
    assert start(path, out).wait(timeout=120) == 0
    assert (out / "results.parquet").read_bytes() == (tmp_path / "alone" / "results.parquet").read_bytes()

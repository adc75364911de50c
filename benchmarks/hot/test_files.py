"""Saving and loading a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eigenbandits as eb
from benchmarks.hot.played import Played


def test_save(benchmark: Any, played: Played, tmp_path: Path) -> None:
    benchmark.pedantic(played.policy.save, args=(tmp_path / "policy",), rounds=10)
    assert eb.load(tmp_path / "policy").round == played.policy.round


def test_load(benchmark: Any, played: Played, tmp_path: Path) -> None:
    played.policy.save(tmp_path / "policy")
    loaded = benchmark.pedantic(eb.load, args=(tmp_path / "policy",), rounds=10)
    assert loaded.round == played.policy.round

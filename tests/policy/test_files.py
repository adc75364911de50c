"""Policies on disk: whole files or none, plain words for every kind of damage, and no code in any of them."""

import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.play import decision_sets, play

import eigenbandits as eb
from eigenbandits.algorithms.base import Algorithm, Parts
from eigenbandits.component import Component
from eigenbandits.files import write_whole
from eigenbandits.policy import files


@pytest.fixture
def policy():
    made = eb.PSLB(noise=0.1, rank=2, seed=3)
    play(made, decision_sets(count=10))
    return made


def contents(data):
    """Return the header and the arrays of a saved policy."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def assembled(header, arrays):
    """Return the bytes of a file with the given header and arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    return buffer.getvalue()


def assert_refused(data, match):
    with pytest.raises(ValueError, match=match) as caught:
        files.from_bytes(data, "some file")
    message = str(caught.value)
    assert message.startswith("some file ")
    assert message.endswith(".")
    assert "\n" not in message


def test_a_file_of_plain_arrays(policy):
    header, arrays = contents(files.to_bytes(policy))
    assert header["format"] == files.FORMAT
    assert header["version"] == files.VERSION
    assert header["policy"]["$component"] == "eigenbandits.algorithms.pslb:PSLB"
    assert all(array.dtype.kind in "fiub" for array in arrays.values())


def test_saving_twice_gives_the_same_bytes(policy):
    assert files.to_bytes(policy) == files.to_bytes(policy)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        eb.load(tmp_path / "nothing")


def test_load_names_the_file(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader")
    with pytest.raises(ValueError, match=r"letter\.txt is not a saved policy, or is truncated or damaged\.$"):
        eb.load(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"{}", bytes(1000)])
def test_garbage(data):
    assert_refused(data, "is not a saved policy, or is truncated or damaged")


def test_truncation_anywhere(policy):
    data = files.to_bytes(policy)
    for length in np.unique(np.linspace(0, len(data) - 1, 60).astype(int)):
        assert_refused(data[:length], "truncated or damaged")


def assert_noticed_or_harmless(damaged):
    """Check that damage gives a plain sentence or hits bytes that mean nothing; never any other exception."""
    try:
        loaded = files.from_bytes(damaged)
    except ValueError as error:
        message = str(error)
    else:
        assert files.to_bytes(loaded) == SAVED
        return
    assert message.endswith(".")
    assert "\n" not in message


@settings(max_examples=100)
@given(st.integers(0), st.integers(0, 255))
def test_a_damaged_byte_anywhere(place, value):
    place %= len(SAVED)
    assert_noticed_or_harmless(SAVED[:place] + bytes([value]) + SAVED[place + 1 :])


@pytest.mark.parametrize("flip", [0x01, 0x20, 0xFF])
def test_a_damaged_frame(flip):
    """Every byte of the first entry's own header, of its place in the directory, and of the directory's end."""
    directory = SAVED.index(b"PK\x01\x02")
    for place in [*range(180), *range(directory, directory + 60), *range(len(SAVED) - 22, len(SAVED))]:
        damaged = bytearray(SAVED)
        damaged[place] ^= flip
        assert_noticed_or_harmless(bytes(damaged))


def _saved():
    made = eb.PSLB(noise=0.1, rank=2, seed=3)
    play(made, decision_sets(count=3))
    return files.to_bytes(made)


SAVED = _saved()


def test_a_foreign_archive():
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.ones(3))
    assert_refused(buffer.getvalue(), "is not a saved policy")
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    assert_refused(buffer.getvalue(), "is not a saved policy")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert_refused(buffer.getvalue(), "is not a saved policy")


def test_another_format_in_the_header(policy):
    header, arrays = contents(files.to_bytes(policy))
    assert_refused(assembled(header | {"format": "something-else"}, arrays), "is not a saved policy")
    assert_refused(assembled([1, 2], arrays), "is not a saved policy")
    assert_refused(assembled({}, arrays), "is not a saved policy")
    assert_refused(assembled(header | {"version": "new"}, arrays), "is not a saved policy")


def test_a_file_of_a_later_version(policy):
    header, arrays = contents(files.to_bytes(policy))
    later = header | {"version": files.VERSION + 1}
    assert_refused(assembled(later, arrays), rf"has format version {files.VERSION + 1};.* reads up to .* Upgrade")


def test_a_file_of_an_earlier_version_says_what_to_do(policy):
    header, arrays = contents(files.to_bytes(policy))
    assert_refused(assembled(header | {"version": 1}, arrays), r"has format version 1; .* learn from the log with")


def test_an_unknown_class_is_refused(policy):
    header, arrays = contents(files.to_bytes(policy))
    header["policy"]["$component"] = "subprocess:Popen"
    assert_refused(assembled(header, arrays), "cannot be read as a policy: .*unknown class subprocess:Popen")


def test_only_a_policy_is_a_policy(policy):
    header, arrays = contents(files.to_bytes(policy))
    for stranger in ({"$component": "eigenbandits.rules.optimism:Optimism", "params": {}}, {"a": 1}, 3, None):
        assert_refused(assembled(header | {"policy": stranger}, arrays), "cannot be read as a policy")


def test_missing_or_wrong_parts_are_refused(policy):
    header, arrays = contents(files.to_bytes(policy))
    fewer = dict(list(arrays.items())[:-1])
    assert_refused(assembled(header, fewer), "cannot be read as a policy")
    for part in ("state", "policy"):
        assert_refused(assembled({k: v for k, v in header.items() if k != part}, arrays), "cannot be read as a policy")
    for state in ({}, 3, None, {"dim": 6}):
        assert_refused(assembled(header | {"state": state}, arrays), "cannot be read as a policy")
    header["policy"]["params"]["noise"] = -1.0
    assert_refused(assembled(header, arrays), "cannot be read as a policy: noise is -1")


class Boom:
    def __reduce__(self):
        return (print, ("this must never be printed",))


def test_pickled_arrays_are_never_opened(policy, capsys):
    header, arrays = contents(files.to_bytes(policy))
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(buffer, header=text, **(arrays | {"array0": np.array([Boom()], dtype=object)}))
    assert_refused(buffer.getvalue(), "is not a saved policy")
    assert capsys.readouterr().out == ""


def test_a_policy_of_ones_own(tmp_path):
    @dataclass(kw_only=True, repr=False, eq=False)
    class Homemade(Algorithm):
        noise: float

        def parts(self) -> Parts:
            return eb.subspace.Whole(), eb.belief.Ambient(self.noise), eb.rules.Thompson(self.noise)

    policy = Homemade(noise=0.3, seed=1)
    play(policy, decision_sets(count=5))
    policy.save(tmp_path / "mine")
    loaded = eb.load(tmp_path / "mine")
    assert type(loaded) is Homemade
    assert files.to_bytes(loaded) == files.to_bytes(policy)
    del Component._registry[Homemade.full_name()]
    with pytest.raises(ValueError, match=r"unknown class .*:.*Homemade; import the module that defines it first"):
        eb.load(tmp_path / "mine")


def test_a_parameter_that_cannot_be_saved_is_named(tmp_path):
    seed: Any = np.random.SeedSequence(3)
    policy = eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(0.1), eb.rules.Optimism(), seed=seed)
    with pytest.raises(TypeError, match="a parameter of type SeedSequence cannot be saved"):
        policy.save(tmp_path / "policy")
    assert list(tmp_path.iterdir()) == []


# --- writing ---


def test_saving_replaces_the_old_file_and_leaves_nothing_else(policy, tmp_path):
    path = tmp_path / "policy"
    for rounds in (1, 2, 3):
        play(policy, decision_sets(count=rounds))
        policy.save(str(path))
        assert files.to_bytes(eb.load(path)) == files.to_bytes(policy)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failing", ["replace", "fsync", "write"])
def test_an_interrupted_write_leaves_the_old_file(policy, tmp_path, monkeypatch, failing):
    path = tmp_path / "policy"
    policy.save(path)
    old = path.read_bytes()
    play(policy, decision_sets(count=3, seed=5))

    def fail(*args, **kwargs):
        raise OSError("the disk is full")

    if failing == "replace":
        monkeypatch.setattr(Path, "replace", fail)
        monkeypatch.setattr("os.replace", fail)
    elif failing == "fsync":
        monkeypatch.setattr("os.fsync", fail)
    else:
        # As large a file as may be written now: the write itself breaks off in the middle.
        resource = pytest.importorskip("resource", reason="limits on file size are a matter of POSIX")
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) // 2, limit[1]))
    try:
        with pytest.raises(OSError, match=r"disk is full|File too large"):
            policy.save(path)
    finally:
        if failing == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
    eb.load(path)


def test_what_is_put_in_place_was_on_the_disk_whole(tmp_path, monkeypatch):
    """In this order: all bytes handed to the system, told to go to the disk, then renamed."""
    events: list[tuple[str, int]] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(descriptor):
        events.append(("sync", os.fstat(descriptor).st_size))
        sync(descriptor)

    def noted_replace(source, target):
        events.append(("replace", 0))
        return replace(source, target)

    monkeypatch.setattr("os.fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    # Few enough bytes to stay in Python's own buffer, if nobody sees to it.
    write_whole(tmp_path / "note", b"twenty bytes of text")
    assert events[:2] == [("sync", 20), ("replace", 0)]


def test_an_interruption_by_hand_leaves_the_old_file(policy, tmp_path, monkeypatch):
    path = tmp_path / "policy"
    policy.save(path)
    old = path.read_bytes()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        policy.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist(policy, tmp_path):
    with pytest.raises(FileNotFoundError):
        policy.save(tmp_path / "nowhere" / "policy")

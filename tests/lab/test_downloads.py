"""Fetching from a server of our own: checksums, mirrors, broken connections, and what is left behind."""

import gzip
import hashlib
import io
import re
import tarfile

import pytest
from tests.lab.server import serving

from eigenbandits.lab.downloads import PackedFile, Source, fetch, is_right
from eigenbandits.lab.errors import DataError
from eigenbandits.papers.lale2019.datasets.sources import CIFAR10, MNIST, known, states


def md5(content):
    return hashlib.md5(content).hexdigest()


@pytest.fixture
def server():
    with serving() as made:
        yield made


PLAIN = {"first": bytes(range(256)) * 4096, "second": b"labels"}


@pytest.fixture
def small(server):
    """Two gzipped files, as MNIST has four."""
    packed = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in PLAIN.items()}
    server.content = {f"/{name}": content for name, content in packed.items()}
    return Source(
        "small",
        "Small",
        "small",
        (server.address(),),
        tuple(PackedFile(name, len(content), md5(content)) for name, content in packed.items()),
        {name: md5(content) for name, content in PLAIN.items()},
    )


@pytest.fixture
def archived(server):
    """One archive, as CIFAR-10 is."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in (PLAIN | {"readme.html": b"no data"}).items():
            member = tarfile.TarInfo(f"inside/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    content = buffer.getvalue()
    server.content = {"/all.tar.gz": content}
    files = {name: md5(content) for name, content in PLAIN.items()}
    packed = (PackedFile("all.tar.gz", len(content), md5(content)),)
    return Source("archived", "Archived", "archived", (server.address(),), packed, files)


def test_files_come_whole_and_are_not_fetched_twice(server, small, tmp_path):
    said: list[str] = []
    folder = fetch(small, tmp_path, said.append)
    assert folder == tmp_path / "small"
    assert sorted(path.name for path in folder.iterdir()) == ["first.gz", "second.gz"]
    assert gzip.decompress((folder / "first.gz").read_bytes()) == PLAIN["first"]
    # How big and how long is said before, and how long it was after.
    assert re.match(r"Small: 0\.0 MB into .*; about 1 s at 50 Mbit/s\.", said[0])
    assert re.match(r"Small: done in \d+ s, all checksums match\.", said[-1])
    asked = len(server.asked)
    fetch(small, tmp_path, said.append)
    assert len(server.asked) == asked
    assert "already" in said[-1]


def test_only_what_is_missing_or_damaged_is_fetched(server, small, tmp_path):
    folder = fetch(small, tmp_path, lambda line: None)
    (folder / "second.gz").write_bytes(b"damaged")
    server.asked.clear()
    fetch(small, tmp_path, lambda line: None)
    assert [path for path, _ in server.asked] == ["/second.gz"]
    assert is_right(folder, "second", small)


def test_plain_files_of_the_user_are_taken(server, small, tmp_path):
    (tmp_path / "small").mkdir()
    for name, content in PLAIN.items():
        (tmp_path / "small" / name).write_bytes(content)
    fetch(small, tmp_path, lambda line: None)
    assert server.asked == []


def test_a_broken_connection_leaves_no_file_and_the_next_attempt_goes_on(server, small, tmp_path):
    length = small.packed[0].size
    server.cuts = [length // 3]
    with pytest.raises(
        DataError, match=rf"the connection ended after {length // 3:,} of {length:,} bytes\); the same com"
    ):
        fetch(small, tmp_path, lambda line: None)
    assert not (tmp_path / "small" / "first.gz").exists()
    server.asked.clear()
    folder = fetch(small, tmp_path, lambda line: None)
    assert server.asked[0] == ("/first.gz", f"bytes={length // 3}-")
    assert gzip.decompress((folder / "first.gz").read_bytes()) == PLAIN["first"]
    assert sorted(path.name for path in folder.iterdir()) == ["first.gz", "second.gz"]


def test_a_server_that_cannot_go_on_starts_anew(server, small, tmp_path):
    server.cuts, server.ranges = [10], False
    with pytest.raises(DataError):
        fetch(small, tmp_path, lambda line: None)
    folder = fetch(small, tmp_path, lambda line: None)
    assert is_right(folder, "first", small)


def test_a_left_over_part_that_is_too_long_is_thrown_away(server, small, tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "first.gz.part").write_bytes(b"x" * (small.packed[0].size + 5))
    folder = fetch(small, tmp_path, lambda line: None)
    assert is_right(folder, "first", small)
    assert not (folder / "first.gz.part").exists()


def test_a_wrong_checksum_is_refused_and_leaves_nothing(server, small, tmp_path):
    server.content["/first.gz"] = gzip.compress(b"something else")
    with pytest.raises(
        DataError, match=f"does not have the checksum {small.packed[0].md5}: it arrived damaged, or was ch"
    ):
        fetch(small, tmp_path, lambda line: None)
    assert list((tmp_path / "small").iterdir()) == []


def test_another_address_is_asked_where_the_first_fails(server, small, tmp_path):
    addresses = (server.address("gone/"), "http://127.0.0.1:9/", server.address())
    moved = Source("small", "Small", "small", addresses, small.packed, small.files)
    assert is_right(fetch(moved, tmp_path, lambda line: None), "first", small)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [("gone/", r"gone/first\.gz cannot be fetched: the server answered 404"), (None, r"cannot be fetched \(.*refused")],
)
def test_a_source_that_does_not_answer_is_said_in_a_sentence(server, small, tmp_path, address, sentence):
    addresses = (server.address(address) if address else "http://127.0.0.1:9/",)
    with pytest.raises(DataError, match=sentence):
        fetch(Source("s", "S", "s", addresses, small.packed, small.files), tmp_path, lambda line: None)


def test_an_archive_is_unpacked_whole_and_removed(server, archived, tmp_path):
    folder = fetch(archived, tmp_path, lambda line: None)
    assert sorted(path.name for path in folder.iterdir()) == ["first", "second"]
    assert all((folder / name).read_bytes() == content for name, content in PLAIN.items())


def test_an_archive_without_a_file_is_refused(server, archived, tmp_path):
    more = archived.files | {"third": md5(b"third")}
    with pytest.raises(DataError, match=r"third in .* has a wrong checksum"):
        fetch(Source("a", "A", "a", archived.addresses, archived.packed, more), tmp_path, lambda line: None)


def test_names_that_cannot_be_fetched():
    assert known("mnist") is MNIST
    with pytest.raises(DataError, match="there is no dataset 'svhn' to fetch; expected one of mnist, cifar10"):
        known("svhn")


def test_the_sources_are_plausible():
    assert [file.name for file in CIFAR10.packed] == ["cifar-10-binary.tar.gz"]
    assert len(MNIST.packed) == len(MNIST.files) == 4
    for source in (MNIST, CIFAR10):
        assert all(address.startswith("https://") and address.endswith("/") for address in source.addresses)
        checksums = [*source.files.values(), *(file.md5 for file in source.packed)]
        assert all(re.fullmatch("[0-9a-f]{32}", checksum) for checksum in checksums)
        assert len(set(checksums)) == len(checksums)


def test_the_state_of_a_folder(tmp_path):
    lines = list(states(tmp_path))
    assert lines[0] == f"Data in {tmp_path}:"
    assert lines[1].startswith("  MNIST: missing; fetch 12 MB with: eigenbandits data fetch mnist --to ")
    assert lines[2].startswith("  CIFAR-10: missing; fetch 170 MB with: ")
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte").write_bytes(b"damaged")
    assert re.match("  MNIST: train-images-idx3-ubyte, .* missing or damaged; run: ", list(states(tmp_path))[1])

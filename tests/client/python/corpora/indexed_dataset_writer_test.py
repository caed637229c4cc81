"""Tests of evenpack.corpora.indexed_dataset_writer."""

from __future__ import annotations

import errno
import resource
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from evenpack.corpora import IndexedDataset, IndexedDatasetWriter
from evenpack.corpora.indexed_dataset_writer import token_type_for
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
from example_corpora import RawDataset, random_documents, refusal
from numpy.typing import ArrayLike, DTypeLike

KINDS = [(1, "u1"), (2, "i1"), (3, "<i2"), (4, "<i4"), (5, "<i8"), (8, "<u2")]


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("code", "kind"), KINDS)
def test_files_are_those_of_the_format(tmp_path: Path, code: int, kind: str) -> None:
    documents = [[t % 100 for t in d] for d in random_documents(40, seed=1, least=0)]
    with IndexedDatasetWriter(tmp_path / "a", np.dtype(kind)) as writer:
        for document in documents:
            writer.add(document)
    RawDataset([[d] for d in documents], code, kind).write(tmp_path / "b")
    for ending in ("idx", "bin"):
        written = (tmp_path / f"a.{ending}").read_bytes()
        assert written == (tmp_path / f"b.{ending}").read_bytes()
    assert _files(tmp_path) == ["a.bin", "a.idx", "b.bin", "b.idx"]


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    with IndexedDatasetWriter(tmp_path / "a.idx", np.uint16) as writer:
        writer.add([])
        writer.add(np.array([65_535, 0], dtype=np.int64))
    dataset = IndexedDataset(tmp_path / "a")
    assert dataset.documents_without_tokens == 1
    assert [t.tolist() for t in (dataset.tokens(0),)] == [[65_535, 0]]


def test_a_dataset_may_have_no_documents(tmp_path: Path) -> None:
    with IndexedDatasetWriter(tmp_path / "a", np.int32):
        pass
    assert len(IndexedDataset(tmp_path / "a")) == 0


def test_nothing_appears_before_all_is_written(tmp_path: Path) -> None:
    writer = IndexedDatasetWriter(tmp_path / "a", np.int32)
    writer.add([1, 2])
    assert _files(tmp_path) == ["a.bin.partial"]
    writer.close()
    assert _files(tmp_path) == ["a.bin", "a.idx"]
    writer.close()
    writer.discard()
    assert IndexedDataset(tmp_path / "a").tokens(0).tolist() == [1, 2]


def test_two_writers_of_a_prefix_do_not_meet(tmp_path: Path) -> None:
    """As of the ranks of a run that all make the dataset."""
    first = IndexedDatasetWriter(tmp_path / "a", np.int32)
    first.add([1, 2])
    with pytest.raises(InvalidArgumentError) as caught:
        IndexedDatasetWriter(tmp_path / "a", np.int32)
    assert str(caught.value) == (
        f"prefix: {tmp_path / 'a'} is not accepted; accepted: one that nobody else "
        "writes now"
    )
    first.add([3])
    first.close()
    dataset = IndexedDataset(tmp_path / "a")
    assert [dataset.tokens(i).tolist() for i in range(2)] == [[1, 2], [3]]
    IndexedDatasetWriter(tmp_path / "a", np.int32).discard()
    IndexedDatasetWriter(tmp_path / "a", np.int32).close()
    assert len(IndexedDataset(tmp_path / "a")) == 0


def test_what_a_writer_left_that_was_killed_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.bin.partial").write_bytes(b"left" * 9)
    with IndexedDatasetWriter(tmp_path / "a", np.uint8) as writer:
        writer.add([7])
    assert (tmp_path / "a.bin").read_bytes() == b"\x07"


def test_a_close_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And lets another write."""

    def full(_: IndexedDatasetWriter, file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(IndexedDatasetWriter, "_write_index", full)
        with (
            pytest.raises(OSError, match="No space"),
            IndexedDatasetWriter(tmp_path / "a", np.int32) as writer,
        ):
            writer.add([1])
    assert _files(tmp_path) == []
    IndexedDatasetWriter(tmp_path / "a", np.int32).close()


def test_nothing_is_added_behind_a_document_that_was_written_in_part(
    tmp_path: Path,
) -> None:
    """No index would fit the bytes."""
    most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = IndexedDatasetWriter(tmp_path / "a", np.uint16)
    writer.add([1, 2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.add(np.ones(100_000, np.uint16))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    with pytest.raises(FailedPreconditionError, match="the writer is closed"):
        writer.add([3])
    writer.close()
    assert _files(tmp_path) == []


def test_an_error_leaves_what_was_there_before(tmp_path: Path) -> None:
    with IndexedDatasetWriter(tmp_path / "a", np.int32) as writer:
        writer.add([1])
    with (
        pytest.raises(KeyError, match="broken"),
        IndexedDatasetWriter(tmp_path / "a", np.int32) as writer,
    ):
        writer.add([2, 3])
        raise KeyError("broken")
    assert _files(tmp_path) == ["a.bin", "a.idx"]
    assert IndexedDataset(tmp_path / "a").tokens(0).tolist() == [1]


def test_a_dataset_is_replaced(tmp_path: Path) -> None:
    for tokens in ([1, 2, 3], [4]):
        with IndexedDatasetWriter(tmp_path / "a", np.int32) as writer:
            writer.add(tokens)
    assert IndexedDataset(tmp_path / "a").tokens(0).tolist() == [4]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([70_000], "document 1: token: 70000 is not accepted; accepted: 0 to 65535"),
        ([5, -1], "document 1: token: -1 is not accepted; accepted: 0 to 65535"),
        ([0.5], r"document 1: tokens: float64 of shape \(1,\) is not accepted"),
        ([[1]], r"document 1: tokens: int64 of shape \(1, 1\) is not accepted"),
    ],
)
def test_tokens_that_do_not_fit_are_refused_and_nothing_is_added(
    tmp_path: Path, tokens: ArrayLike, message: str
) -> None:
    with IndexedDatasetWriter(tmp_path / "a", np.uint16) as writer:
        writer.add([1])
        with pytest.raises(InvalidArgumentError, match=message):
            writer.add(tokens)
        writer.add([2])
    dataset = IndexedDataset(tmp_path / "a")
    assert [dataset.tokens(i).tolist() for i in range(2)] == [[1], [2]]


def test_a_closed_writer_takes_nothing(tmp_path: Path) -> None:
    writer = IndexedDatasetWriter(tmp_path / "a", np.int32)
    writer.close()
    with pytest.raises(FailedPreconditionError, match="the writer is closed"):
        writer.add([1])


@pytest.mark.parametrize("kind", [np.float32, np.uint32, np.bool_])
def test_other_types_are_refused(tmp_path: Path, kind: DTypeLike) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        IndexedDatasetWriter(tmp_path / "a", kind)
    assert str(caught.value) == (
        f"token_type: {np.dtype(kind).name} is not accepted; accepted: uint8, int8, "
        "int16, int32, int64, uint16"
    )


def test_a_folder_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        IndexedDatasetWriter(tmp_path / "none" / "a", np.int32)
    assert str(caught.value) == (
        f"prefix: {tmp_path}/none/a (No such file or directory) is not accepted; "
        "accepted: a prefix in a folder that can be written"
    )


@pytest.mark.parametrize(
    ("vocabulary", "name"), [(256, "uint16"), (65_499, "uint16"), (65_500, "int32")]
)
def test_tokens_are_stored_as_megatron_stores_them(vocabulary: int, name: str) -> None:
    assert token_type_for(vocabulary).name == name


def test_what_is_no_prefix_or_type_is_named(tmp_path: Path) -> None:
    assert refusal(IndexedDatasetWriter, None, np.int32) == (
        "prefix: None is not accepted; accepted: a str, or an os.PathLike of one"
    )
    assert refusal(IndexedDatasetWriter, tmp_path / "a", "x") == (
        "token_type: 'x' is not accepted; accepted: uint8, int8, int16, int32, int64, "
        "uint16"
    )

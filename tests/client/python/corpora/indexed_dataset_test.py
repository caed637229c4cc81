"""Tests of evenpack.corpora.indexed_dataset."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from evenpack.corpora import (
    IndexedDataset,
    IndexedDatasetWriter,
    TokenPlace,
)
from evenpack.corpora.megatron_index import MegatronIndex, read_index
from evenpack.errors import InvalidArgumentError
from example_corpora import RawDataset, lengths, listed, numbers, random_documents

DOCUMENTS: list[list[list[int]]] = [
    [[1, 2], [3]],
    [[]],
    [[4, 5, 6, 7]],
    [],
    [[8], [], [9, 10]],
]
TOKENS = [[1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


@pytest.mark.parametrize(
    ("code", "kind"),
    [(1, "u1"), (2, "i1"), (3, "<i2"), (4, "<i4"), (5, "<i8"), (8, "<u2")],
)
def test_documents_have_the_tokens_of_their_sequences(
    tmp_path: Path, code: int, kind: str
) -> None:
    prefix = RawDataset(DOCUMENTS, code, kind).write(tmp_path / "a")
    dataset = IndexedDataset(prefix)
    assert len(dataset) == 3
    assert dataset.token_type == np.dtype(kind)
    assert listed(dataset) == {"lengths": [3, 4, 3]}
    for i, tokens in enumerate(TOKENS):
        assert dataset.tokens(i).tolist() == tokens
        assert dataset.tokens(i).dtype == np.dtype(kind)


def test_documents_without_a_token_are_left_out_and_counted(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset(DOCUMENTS).write(tmp_path / "a"))
    assert dataset.documents_without_tokens == 2
    full = IndexedDataset(RawDataset([[[1]], [[2]]]).write(tmp_path / "b"))
    assert full.documents_without_tokens == 0
    empty = IndexedDataset(RawDataset([[], [[]]]).write(tmp_path / "c"))
    assert (len(empty), empty.documents_without_tokens) == (0, 2)
    assert listed(empty) == {}


@pytest.mark.parametrize("one_sequence", [True, False])
def test_any_piece_of_any_document_can_be_read(
    tmp_path: Path, one_sequence: bool
) -> None:
    documents = random_documents(30, seed=4, least=0)
    cut = [[d] if one_sequence else [d[:2], d[2:3], d[3:]] for d in documents]
    dataset = IndexedDataset(RawDataset(cut).write(tmp_path / "a"))
    kept = [document for document in documents if document]
    assert lengths(dataset, 5) == [len(document) for document in kept[5:]]
    for i, document in enumerate(kept):
        for begin in range(len(document) + 1):
            for end in range(begin, len(document) + 1):
                assert dataset.tokens(i, begin, end).tolist() == document[begin:end]


def test_documents_can_be_read_in_any_order(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset(DOCUMENTS).write(tmp_path / "a"))
    assert dataset.read(numbers([2, 1, 1, 0])).lengths.tolist() == [3, 4, 4, 3]


def test_sequences_may_be_anywhere_in_the_bin_file(tmp_path: Path) -> None:
    raw = RawDataset([[[1, 2], [3, 4]]])
    # The second sequence first.
    raw.damage[34 + 8] = struct.pack("<qq", 8, 0)
    dataset = IndexedDataset(raw.write(tmp_path / "a"))
    assert dataset.tokens(0).tolist() == [3, 4, 1, 2]
    assert dataset.tokens(0, 1, 3).tolist() == [4, 1]


def test_tokens_are_views_of_the_file_that_nobody_writes(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset([[[1, 2, 3]]]).write(tmp_path / "a"))
    tokens = dataset.tokens(0)
    assert not tokens.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        tokens[0] = 7


def test_lengths_need_the_index_alone(tmp_path: Path) -> None:
    prefix = RawDataset(DOCUMENTS).write(tmp_path / "a")
    (tmp_path / "a.bin").unlink()
    dataset = IndexedDataset(prefix)
    assert lengths(dataset) == [3, 4, 3]
    with pytest.raises(InvalidArgumentError) as caught:
        dataset.tokens(0)
    assert str(caught.value) == (
        f"file: {tmp_path}/a.bin is not accepted; accepted: one that is there, to "
        "have tokens"
    )


def test_a_pointer_beyond_the_bin_file_is_refused(tmp_path: Path) -> None:
    raw = RawDataset(DOCUMENTS)
    raw.damage[34 + 4 * 7 + 8] = struct.pack("<q", 37)
    prefix = raw.write(tmp_path / "a")
    with pytest.raises(InvalidArgumentError) as caught:
        IndexedDataset(prefix)
    assert str(caught.value) == (
        f"{prefix}.idx: pointer of sequence 1: 37 is not accepted; accepted: 0 to 36, "
        f"where 1 tokens of int32 end within 40 bytes of {prefix}.bin"
    )


@pytest.mark.parametrize("size", [0, 1, 15, 39])
def test_a_bin_file_that_is_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    prefix = RawDataset(DOCUMENTS).write(tmp_path / "a")
    content = (tmp_path / "a.bin").read_bytes()
    (tmp_path / "a.bin").write_bytes(content[:size])
    with pytest.raises(InvalidArgumentError, match=r"pointer of sequence [0-9]+: "):
        IndexedDataset(prefix)


def test_a_bin_file_too_small_for_a_sequence_is_named(tmp_path: Path) -> None:
    prefix = RawDataset([[[1, 2, 3]]]).write(tmp_path / "a")
    (tmp_path / "a.bin").write_bytes(b"")
    with pytest.raises(InvalidArgumentError) as caught:
        IndexedDataset(prefix)
    assert str(caught.value) == (
        f"{prefix}.idx: pointer of sequence 0: 0 is not accepted; accepted: any, in a "
        f"{prefix}.bin that has 3 tokens of int32; it has 0 bytes"
    )


def test_it_can_be_sent_to_another_process(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset(DOCUMENTS).write(tmp_path / "a"))
    content = pickle.dumps(dataset)
    assert len(content) < 500
    again = pickle.loads(content)
    assert [again.tokens(i).tolist() for i in range(3)] == TOKENS


@pytest.mark.parametrize(
    ("document", "begin", "end", "message"),
    [
        (3, 0, None, "document: 3 is not accepted; accepted: 0 to 2"),
        (-1, 0, None, "document: -1 is not accepted; accepted: 0 to 2"),
        (1, 0, 5, "document 1: end: 5 is not accepted; accepted: 0 to 4"),
        (1, 3, 2, "document 1: begin: 3 is not accepted; accepted: 0 to 2"),
    ],
)
def test_tokens_that_there_are_not_are_refused(
    tmp_path: Path, document: int, begin: int, end: int | None, message: str
) -> None:
    dataset = IndexedDataset(RawDataset(DOCUMENTS).write(tmp_path / "a"))
    with pytest.raises(InvalidArgumentError) as caught:
        dataset.tokens(document, begin, end)
    assert str(caught.value) == message


def test_a_number_that_there_is_not_is_refused(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset(DOCUMENTS).write(tmp_path / "a"))
    with pytest.raises(InvalidArgumentError, match="document: 3 is not accepted"):
        dataset.read(numbers([0, 3]))


def _read_at(place: TokenPlace, length: int) -> list[int]:
    """What a server reads there: numbers without a sign."""
    content = Path(place.path).read_bytes()
    found = np.frombuffer(content, f"<u{place.token_bytes}", length, place.offset)
    return found.tolist()


@pytest.mark.parametrize(("code", "kind"), [(4, "<i4"), (8, "<u2")])
def test_places_are_where_the_tokens_of_documents_are(
    tmp_path: Path, code: int, kind: str
) -> None:
    documents = [*DOCUMENTS, [[], [5], [], [6, 65535]]]
    dataset = IndexedDataset(RawDataset(documents, code, kind).write(tmp_path / "a"))
    assert len(dataset) == 4
    for i, length in enumerate(lengths(dataset)):
        place = dataset.token_place(i)
        assert place.path == f"{tmp_path}/a.bin"
        assert place.token_bytes == np.dtype(kind).itemsize
        assert _read_at(place, length) == dataset.tokens(i).tolist()
    assert dataset.token_place(3).offset == 10 * np.dtype(kind).itemsize


def test_negative_tokens_keep_their_bits(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset([[[7, -1, -(1 << 31)]]]).write(tmp_path / "a"))
    assert _read_at(dataset.token_place(0), 3) == [7, (1 << 32) - 1, 1 << 31]


def test_places_need_the_index_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RawDataset(DOCUMENTS).write(tmp_path / "a")
    (tmp_path / "a.bin").unlink()
    monkeypatch.chdir(tmp_path)
    assert IndexedDataset("a").token_place(1) == (f"{tmp_path}/a.bin", 4, 12)


@pytest.mark.parametrize(
    ("code", "kind"), [(1, "u1"), (2, "i1"), (3, "<i2"), (5, "<i8")]
)
def test_tokens_of_a_type_that_servers_do_not_read_have_no_place(
    tmp_path: Path, code: int, kind: str
) -> None:
    prefix = RawDataset(DOCUMENTS, code, kind).write(tmp_path / "a")
    with pytest.raises(InvalidArgumentError) as caught:
        IndexedDataset(prefix).token_place(0)
    assert str(caught.value) == (
        f"{prefix}.idx: type of a token: {np.dtype(kind).name} is not accepted; "
        "accepted: uint16 or int32, which a server reads itself"
    )


def test_a_document_whose_sequences_lie_apart_has_no_place(tmp_path: Path) -> None:
    raw = RawDataset([[[9]], [[1, 2], [], [3, 4]]])
    # The last sequence of the second document before its first one.
    raw.damage[34 + 4 * 4 + 8] = struct.pack("<qqq", 12, 0, 4)
    prefix = raw.write(tmp_path / "a")
    dataset = IndexedDataset(prefix)
    assert dataset.token_place(0).offset == 0
    with pytest.raises(InvalidArgumentError) as caught:
        dataset.token_place(1)
    assert str(caught.value) == (
        f"{prefix}.idx: document 1: pointer of sequence 3: 4 is not accepted; "
        "accepted: 20, behind its sequence 1"
    )


@pytest.mark.parametrize("document", [-1, 3])
def test_a_place_of_a_document_that_there_is_not_is_refused(
    tmp_path: Path, document: int
) -> None:
    dataset = IndexedDataset(RawDataset(DOCUMENTS).write(tmp_path / "a"))
    with pytest.raises(InvalidArgumentError, match=f"document: {document} is not"):
        dataset.token_place(document)


def test_index_and_tokens_are_of_one_dataset_where_another_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the openings of the two files."""
    prefix = RawDataset([[[3] * 3], [[5] * 5]], 4, "<i4").write(tmp_path / "a")
    replaced: list[Path] = []

    def read_and_replace(path: Path) -> MegatronIndex:
        index = read_index(path)
        if not replaced:
            replaced.append(path)
            with IndexedDatasetWriter(prefix, np.int32) as writer:
                writer.add([7] * 5)
                writer.add([9] * 3)
        return index

    monkeypatch.setattr("evenpack.corpora.indexed_dataset.read_index", read_and_replace)
    dataset = IndexedDataset(prefix)
    assert [dataset.tokens(i).tolist() for i in range(2)] == [[7] * 5, [9] * 3]
    assert replaced

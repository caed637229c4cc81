"""Tests of evenpack.ingest where a server reads the tokens itself."""

from __future__ import annotations

import pytest
from evenpack.corpora import LengthCorpus, SequenceCorpus, Shuffle
from evenpack.corpora.token_place import TokenPlace
from evenpack.errors import InvalidArgumentError
from evenpack.ingest import ingest
from example_producers import Recording


class _InFiles(LengthCorpus):
    """Three documents in each of two files, then three more; one may have no place."""

    def __init__(self, without: int | None = None) -> None:
        super().__init__(range(1, 10), ids=range(50, 59))
        self._without = without

    def token_place(self, document: int) -> TokenPlace:
        if document == self._without:
            raise OSError(f"no place of document {document}")
        return TokenPlace(f"/data/{document // 3}.bin", 2, 100 * document)


PLACES = [(f"/data/{i // 3}.bin", 2, 100 * i) for i in range(9)]


def test_a_server_that_reads_is_told_the_place_of_each_document() -> None:
    producer = Recording()
    report = ingest(
        producer, _InFiles(), batch_documents=5, by_value=True, server_reads=True
    )
    assert producer.places == PLACES
    assert producer.documents == [(i + 1, 50 + i, i + 1, 0) for i in range(9)]
    assert producer.tokens == []
    # Those of one file in a row, and no more than a batch.
    assert producer.calls == [3, 2, 1, 3, "flush", "end"]
    assert (report.documents, report.tokens) == (9, 45)


def test_places_are_those_from_the_streams_next_document_on() -> None:
    producer = Recording()
    for documents in (4, 9):
        ingest(
            producer,
            _InFiles(),
            documents=documents,
            end_of_stream=False,
            by_value=True,
            server_reads=True,
        )
    assert producer.calls == [3, 1, "flush", 2, 3, "flush"]
    assert producer.places == PLACES


def test_documents_before_one_without_a_place_are_accepted() -> None:
    producer = Recording()
    with pytest.raises(OSError, match="no place of document 4"):
        ingest(producer, _InFiles(without=4), by_value=True, server_reads=True)
    assert producer.calls == [3, 1, "flush"]
    assert producer.places == PLACES[:4]


def test_a_corpus_without_files_that_a_server_can_read_is_refused() -> None:
    producer = Recording()
    with pytest.raises(InvalidArgumentError) as caught:
        ingest(
            producer,
            Shuffle(SequenceCorpus([[1], [2]]), seed=1),
            by_value=True,
            server_reads=True,
        )
    assert str(caught.value) == (
        "corpus: SequenceCorpus is not accepted; accepted: an IndexedDataset, or a "
        "Shuffle, Blend, Concatenation or Repetition of some, whose tokens a server "
        "can read itself"
    )
    assert producer.calls == ["flush"]


def test_a_server_reads_nothing_of_a_job_by_reference() -> None:
    producer = Recording()
    with pytest.raises(InvalidArgumentError) as caught:
        ingest(producer, _InFiles(), server_reads=True)
    assert str(caught.value) == (
        "server_reads: True is not accepted; accepted: False without by_value"
    )
    assert producer.calls == []

"""Tests of evenpack.ingest, with a producer that records and with real jobs."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest
from evenpack import Step, _native
from evenpack.corpora import (
    Blend,
    Corpus,
    IterableCorpus,
    LengthCorpus,
    Repetition,
    SequenceCorpus,
    Shuffle,
)
from evenpack.corpora.corpus import Tokens
from evenpack.document_columns import Columns
from evenpack.errors import (
    InvalidArgumentError,
    OutOfRangeError,
    UnavailableError,
)
from evenpack.ingest import DocumentProducer, ingest
from evenpack.producer import Producer
from evenpack.spec import job_spec
from example_producers import Documents, LocalProducer, Recording
from numpy.typing import ArrayLike, NDArray


def _all(corpus: Corpus) -> Documents:
    recording = Recording()
    ingest(recording, corpus)
    return recording.documents


def _columns(count: int) -> LengthCorpus:
    return LengthCorpus(
        range(1, count + 1),
        ids=range(500, 500 + count),
        loss_tokens=range(count),
        sources=[i % 3 for i in range(count)],
    )


def test_documents_come_in_order_with_their_columns() -> None:
    producer = Recording()
    report = ingest(producer, _columns(30), batch_documents=8)
    assert producer.documents == [(i + 1, 500 + i, i, i % 3) for i in range(30)]
    assert producer.calls == [8, 8, 8, 6, "flush", "end"]
    assert (report.first_sequence, report.next_sequence) == (0, 30)
    assert (report.documents, report.tokens, report.ended) == (30, 465, True)
    assert report.seconds >= 0


def test_the_stream_stays_open_if_wanted() -> None:
    producer = Recording()
    report = ingest(producer, LengthCorpus([1, 2]), end_of_stream=False)
    assert producer.calls == [2, "flush"]
    assert not report.ended


def test_an_end_without_documents_is_an_end() -> None:
    producer = Recording()
    report = ingest(producer, LengthCorpus([]))
    assert producer.calls == ["flush", "end"]
    assert (report.documents, report.ended) == (0, True)


def _mixtures() -> list[Corpus]:
    web = Shuffle(_columns(60), seed=3, epochs=2)
    code = Repetition(LengthCorpus([9, 8, 7]), 20)
    blend = Blend([web, code], [2, 1], switches=[(20, [1, 3]), (41, [1, 0])])
    return [
        _columns(100),
        IterableCorpus([1 + i % 7 for i in range(100)]),
        web,
        blend,
        Blend([blend, LengthCorpus([50] * 40)], [3, 1]),
    ]


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("seed", range(8))
def test_every_document_comes_once_however_often_it_is_interrupted(
    which: int, seed: int
) -> None:
    expected = _all(_mixtures()[which])
    draw = random.Random(seed)
    producer = Recording()
    interrupts = 0
    while not producer.ended:
        producer.room = len(producer.documents) + draw.randrange(1, 40)
        try:
            # A new process has the corpus anew.
            ingest(
                producer,
                _mixtures()[which],
                batch_documents=draw.randrange(1, 30),
            )
        except UnavailableError:
            interrupts += 1
    assert producer.documents == expected
    assert interrupts >= 2


def test_all_before_a_switch_is_accepted_before_it() -> None:
    corpora = [LengthCorpus([1] * 50), LengthCorpus([2] * 50)]
    blend = Blend(corpora, [1, 0], switches=[(5, [0, 1]), (9, [1, 1])])
    producer = Recording()
    ingest(producer, blend, documents=20, batch_documents=4)
    assert producer.calls[:5] == [4, 1, "flush", 4, "flush"]
    assert producer.calls[-3:] == [3, "flush", "end"]
    assert producer.calls.count("flush") == 3


@dataclass
class Barred:
    """A corpus whose chunks know nothing of its barriers."""

    barriers: tuple[int, ...]
    chunk: int

    def documents(self, first: int = 0) -> Iterator[Columns]:
        for begin in range(first, 20, self.chunk):
            size = min(self.chunk, 20 - begin)
            yield Columns(np.full(size, 5, dtype=np.uint32))


@pytest.mark.parametrize("chunk", [1, 3, 4, 20])
def test_a_barrier_may_be_anywhere_in_a_chunk(chunk: int) -> None:
    producer = Recording()
    ingest(producer, Barred((4, 5, 19, 20, 77), chunk))
    done, barriers = 0, []
    for call in producer.calls[:-2]:
        if call == "flush":
            barriers.append(done)
        else:
            done += int(call)
    assert done == 20
    assert barriers == [4, 5, 19]


def test_going_on_at_a_barrier_flushes_before_it() -> None:
    producer = Recording([(5, 0, 5, 0)] * 4)
    ingest(producer, Barred((4,), 20))
    assert producer.calls == ["flush", 16, "flush", "end"]


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert all(record.name == "evenpack" for record in caplog.records)
    return [record.message for record in caplog.records]


def test_a_blend_that_ends_before_all_of_its_corpora_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    web, code = LengthCorpus([1] * 30), Shuffle(LengthCorpus([2] * 30), seed=1)
    ingest(Recording(), Blend([web, code], weights=[3, 1]))
    (line,) = _warnings(caplog)
    assert "after 40 documents" in line
    assert "corpora[1] (Shuffle) has 20 documents left" in line
    assert "corpora[0]" not in line


def test_a_blend_that_comes_out_even_or_is_not_ended_is_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    web, code = LengthCorpus([1] * 30), LengthCorpus([2] * 10)
    ingest(Recording(), Blend([web, code], weights=[3, 1]))
    uneven = Blend([web, code], weights=[1, 1])
    ingest(Recording(), uneven, end_of_stream=False)
    # So many were asked for.
    ingest(Recording(), uneven, documents=12)
    assert _warnings(caplog) == []


def test_some_of_the_documents_can_be_sent_now_and_others_later() -> None:
    producer = Recording()
    for documents in (0, 7, 7, 30, 100):
        report = ingest(
            producer, _columns(100), documents=documents, end_of_stream=False
        )
        assert report.next_sequence == documents
    assert producer.documents == _all(_columns(100))


def test_an_endless_corpus_is_sent_as_far_as_it_is_wanted() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 3

    producer = Recording()
    ingest(producer, IterableCorpus(endless()), documents=10_000)
    assert len(producer.documents) == 10_000


def _documents(count: int) -> list[NDArray[np.uint16]]:
    """Of 1 to 9 tokens, all different."""
    lengths = [1 + i * 7 % 9 for i in range(count)]
    tokens = np.arange(sum(lengths), dtype=np.uint16)
    return np.split(tokens, np.cumsum(lengths)[:-1])


class _UnreadableFrom(SequenceCorpus):
    """Whose documents from one on have lengths alone."""

    def __init__(self, first: int, documents: Sequence[ArrayLike]) -> None:
        super().__init__(documents)
        self._first = first

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        if document >= self._first:
            raise OSError(f"no tokens of document {document}")
        return super().tokens(document, begin, end)


def test_by_value_the_tokens_of_each_document_go_along() -> None:
    documents = _documents(30)
    producer = Recording()
    report = ingest(producer, SequenceCorpus(documents), by_value=True)
    assert producer.tokens == [tokens.tolist() for tokens in documents]
    assert [row[0] for row in producer.documents] == [len(d) for d in documents]
    assert producer.calls == [30, "flush", "end"]
    assert report.tokens == sum(len(d) for d in documents)


def test_by_reference_no_tokens_are_read() -> None:
    producer = Recording()
    ingest(producer, _UnreadableFrom(0, _documents(3)))
    assert (len(producer.documents), producer.tokens) == (3, [])


def test_by_value_batches_and_barriers_are_as_without() -> None:
    corpora = [SequenceCorpus(_documents(50)), SequenceCorpus(_documents(50))]
    blend = Blend(corpora, [1, 0], switches=[(5, [0, 1]), (9, [1, 1])])
    producer = Recording()
    ingest(producer, blend, documents=20, batch_documents=4, by_value=True)
    assert producer.calls[:5] == [4, 1, "flush", 4, "flush"]
    expected = [blend.tokens(i).tolist() for i in range(20)]
    assert producer.tokens == expected


@pytest.mark.parametrize("seed", range(8))
def test_by_value_every_token_comes_once_however_often_it_is_interrupted(
    seed: int,
) -> None:
    documents = _documents(100)
    draw = random.Random(seed)
    producer = Recording()
    while not producer.ended:
        producer.room = len(producer.documents) + draw.randrange(1, 40)
        batch = draw.randrange(1, 30)
        corpus = Shuffle(SequenceCorpus(documents), seed=5)
        with contextlib.suppress(UnavailableError):
            ingest(producer, corpus, batch_documents=batch, by_value=True)
    assert len(producer.tokens) == 100
    seen = sorted(chain.from_iterable(producer.tokens))
    assert seen == list(range(sum(map(len, documents))))


def test_by_value_documents_before_one_without_tokens_are_accepted() -> None:
    documents = _documents(9)
    producer = Recording()
    with pytest.raises(OSError, match="no tokens of document 5"):
        corpus = _UnreadableFrom(5, documents)
        ingest(producer, corpus, batch_documents=3, by_value=True)
    assert producer.calls == [3, 2, "flush"]
    ingest(producer, SequenceCorpus(documents), by_value=True)
    assert producer.tokens == [tokens.tolist() for tokens in documents]


def test_by_value_a_corpus_of_lengths_alone_is_refused() -> None:
    producer = Recording()
    with pytest.raises(InvalidArgumentError) as caught:
        ingest(producer, LengthCorpus([1, 2]), by_value=True)
    assert str(caught.value) == (
        "corpus: LengthCorpus is not accepted; accepted: one that has tokens, not "
        "lengths alone"
    )
    assert producer.calls == ["flush"]


@pytest.mark.parametrize(
    ("corpus", "had", "documents", "message"),
    [
        (
            LengthCorpus([1, 2]),
            3,
            None,
            "the stream's next sequence number: 3 is not accepted; accepted: up to 2, "
            "which the stream is to have; is it the same corpus?",
        ),
        (
            LengthCorpus([1, 2, 3]),
            2,
            1,
            "the stream's next sequence number: 2 is not accepted; accepted: up to 1, "
            "which the stream is to have; is it the same corpus?",
        ),
        (
            LengthCorpus([1, 2]),
            0,
            3,
            "documents: 3 is not accepted; accepted: 0 to 2",
        ),
        (
            LengthCorpus([1, 2]),
            0,
            -1,
            "documents: -1 is not accepted; accepted: 0 to 2",
        ),
        (
            IterableCorpus([1, 2]),
            3,
            None,
            "first: 3 is not accepted; accepted: 0 to 2",
        ),
        (
            IterableCorpus([1, 2]),
            0,
            3,
            "documents: 3 is not accepted; accepted: up to 2, which the corpus has",
        ),
    ],
)
def test_a_corpus_that_does_not_fit_the_stream_is_refused(
    corpus: Corpus, had: int, documents: int | None, message: str
) -> None:
    producer = Recording([(1, 0, 1, 0)] * had)
    with pytest.raises(InvalidArgumentError) as caught:
        ingest(producer, corpus, documents=documents)
    assert str(caught.value) == message
    assert not producer.ended


@pytest.mark.parametrize("batch", [0, (1 << 20) + 1])
def test_a_batch_outside_its_range_is_refused(batch: int) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ingest(Recording(), LengthCorpus([1]), batch_documents=batch)
    assert str(caught.value) == (
        f"batch_documents: {batch} is not accepted; accepted: 1 to 1048576"
    )


def test_documents_before_a_bad_one_are_accepted_and_the_stream_goes_on() -> None:
    producer = Recording()
    with pytest.raises(InvalidArgumentError, match="document 2: length: 0 is not"):
        ingest(producer, IterableCorpus([5, 6, 0, 7]))
    assert producer.calls == [2, "flush"]
    assert producer.accepted_sequence == 2
    ingest(producer, IterableCorpus([5, 6, 4, 7]))
    assert [row[0] for row in producer.documents] == [5, 6, 4, 7]


def test_an_error_of_the_producer_is_passed_on_at_once() -> None:
    producer = Recording(room=3)
    with pytest.raises(UnavailableError, match="cut off"):
        ingest(producer, LengthCorpus([1] * 9), batch_documents=2)
    assert producer.calls == [2]


class Counting:
    """A bar that keeps what it is told."""

    def __init__(self) -> None:
        self.advanced: list[int] = []
        self.closed = False

    def advance(self, documents: int) -> None:
        self.advanced.append(documents)

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True


def test_the_bar_is_told_of_every_batch_and_closed() -> None:
    bar = Counting()
    ingest(Recording(), LengthCorpus([1] * 9), batch_documents=4, progress=bar)
    assert bar.advanced == [4, 4, 1]
    assert bar.closed


def test_the_bar_is_closed_after_an_error() -> None:
    bar = Counting()
    with pytest.raises(InvalidArgumentError):
        ingest(Recording(), IterableCorpus([0]), progress=bar)
    assert bar.closed


def test_there_is_no_bar_unless_a_terminal_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    ingest(Recording(), LengthCorpus([1] * 9))
    assert stream.getvalue() == ""


def _job() -> _native.LocalJob:
    spec = {
        "streams": [{"name": "text"}, {"name": "code"}],
        "window": 512,
        "parallelism": {"data": 1, "micro_batches_per_rank": 4},
        "buffer_limits": {"max_tokens": 1 << 30},
    }
    return _native.LocalJob.create(job_spec(spec).SerializeToString())


def _steps(job: _native.LocalJob, spec: _native.Spec) -> Iterator[Step]:
    while True:
        try:
            content = job.take_step(0, None)
        except OutOfRangeError:
            return
        assert content is not None
        yield Step.read(content, spec)


def _packed(job: _native.LocalJob) -> dict[tuple[int, int], tuple[int, ...]]:
    """(length, id, loss tokens, source) of all documents by stream and number."""
    spec = _native.Spec(job.spec)
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for step in _steps(job, spec):
        for batch in (step[i] for i in range(len(step))):
            names = zip(batch.stream.tolist(), batch.sequence.tolist(), strict=True)
            rows = zip(
                batch.length.tolist(),
                batch.id.tolist(),
                batch.document_loss_tokens.tolist(),
                batch.source.tolist(),
                strict=True,
            )
            for name, row in zip(names, rows, strict=True):
                assert name not in found
                found[name] = row
    return found


def test_a_real_job_packs_each_document_with_its_columns_once() -> None:
    job = _job()
    corpora: dict[str, Corpus] = {"text": _columns(300), "code": _mixtures()[3]}
    for name, corpus in corpora.items():
        ingest(LocalProducer(job, name), corpus, documents=17, end_of_stream=False)
        ingest(LocalProducer(job, name), corpus, batch_documents=10)
        assert job.ended(name)
    expected = {
        (stream, number): row
        for stream, corpus in enumerate(corpora.values())
        for number, row in enumerate(_all(corpus))
    }
    assert _packed(job) == expected


def test_a_document_that_a_real_job_does_not_take_is_its_error() -> None:
    job = _job()
    corpus = LengthCorpus([5, 5, 513])
    with pytest.raises(InvalidArgumentError, match="513 is not accepted"):
        ingest(LocalProducer(job, "text"), corpus, batch_documents=1)
    assert job.next_sequence("text") == 2
    assert not job.ended("text")


def test_the_producers_of_this_package_fit() -> None:
    def takes(producer: DocumentProducer) -> DocumentProducer:
        return producer

    def checked_by_mypy(remote: Producer, job: _native.LocalJob) -> None:
        takes(remote)
        takes(LocalProducer(job, "text"))

    assert takes(Recording()).next_sequence == 0
    assert callable(checked_by_mypy)

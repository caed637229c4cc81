"""Tests of evenpack.corpora.gathering, on steps of real jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack import Step, _native
from evenpack.corpora import (
    Blend,
    Corpus,
    IndexedDataset,
    LengthCorpus,
    SequenceCorpus,
    Shuffle,
    TokenCorpus,
    gather,
)
from evenpack.corpora.corpus import Tokens
from evenpack.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from evenpack.spec import job_spec
from example_corpora import RawDataset, refusal

CP = 2


def _documents(count: int, seed: int) -> list[list[int]]:
    """Tokens that say their document and position, some documents above max_length."""
    draw = np.random.default_rng(seed)
    sizes = np.clip(draw.lognormal(3.5, 1.2, count), 1, 900).astype(int).tolist()
    return [
        [seed * 10_000_000 + i * 1000 + at for at in range(size)]
        for i, size in enumerate(sizes)
    ]


def _steps(corpora: Mapping[str, Corpus], **changes: object) -> Iterator[Step]:
    """The steps of a job that has all documents of the corpora."""
    fields: dict[str, Any] = {
        "streams": [{"name": name} for name in corpora],
        "window": 256,
        "split_overlong": True,
        "parallelism": {"data": 1, "micro_batches_per_rank": 3, "context": CP},
        "policy": {"wlb": {"queue_thresholds": [100]}},
    }
    job = _native.LocalJob.create(job_spec(fields | changes).SerializeToString())
    for name, corpus in corpora.items():
        first = 0
        for part in corpus.documents():
            job.add(name, first, part.lengths, None, None, None)
            first += len(part.lengths)
        job.end_of_stream(name)
    spec = _native.Spec(job.spec)
    while True:
        try:
            content = job.take_step(0, None)
        except OutOfRangeError:
            return
        assert content is not None
        yield Step.read(content, spec)


def _micro_batches(steps: Iterator[Step]) -> Iterator[_native.MicroBatch]:
    for step in steps:
        for i in range(len(step)):
            yield step[i]


LAYOUTS = [
    {},
    {"sharding": "SHARDING_PER_SEQUENCE"},
    {"consumer_layout": {"layout": "LAYOUT_MEGATRON_THD"}},
    {"consumer_layout": {"layout": "LAYOUT_RING_LLAMA3"}},
]


@pytest.mark.parametrize("changes", LAYOUTS)
def test_a_rank_has_the_tokens_of_its_slices(changes: dict[str, Any]) -> None:
    corpus = SequenceCorpus(_documents(300, seed=1))
    batches = pieces = 0
    for batch in _micro_batches(_steps({"text": corpus}, **changes)):
        whole = gather(batch, [corpus])
        assert whole.dtype == np.int64
        assert len(whole) == batch.tokens
        for rank in range(CP):
            indices = batch.slices(rank).token_indices
            own = gather(batch, [corpus], cp_rank=rank)
            assert own.tolist() == whole[indices].tolist()
            batches += 1
        pieces += int((batch.length != batch.document_length).sum())
    assert batches > 50
    assert pieces > 10


def test_every_token_of_every_document_is_gathered_once() -> None:
    texts, codes = _documents(200, seed=2), _documents(150, seed=3)
    corpora = {"text": SequenceCorpus(texts), "code": SequenceCorpus(codes)}
    found: list[int] = []
    for batch in _micro_batches(_steps(corpora)):
        found.extend(gather(batch, list(corpora.values())).tolist())
    expected = [token for document in texts + codes for token in document]
    assert sorted(found) == sorted(expected)


def test_pieces_of_documents_are_where_the_plan_has_them() -> None:
    documents = _documents(200, seed=4)
    corpus = SequenceCorpus(documents)
    for batch in _micro_batches(_steps({"text": corpus})):
        whole = gather(batch, {0: corpus}).tolist()
        bounds = batch.cu_seqlens.tolist()
        for i, (sequence, offset, length) in enumerate(
            zip(
                batch.sequence.tolist(),
                batch.offset.tolist(),
                batch.length.tolist(),
                strict=True,
            )
        ):
            expected = documents[sequence][offset : offset + length]
            assert whole[bounds[i] : bounds[i + 1]] == expected


def test_corpora_are_followed_through_blend_shuffle_and_files(tmp_path: Path) -> None:
    texts, codes = _documents(120, seed=5), _documents(120, seed=6)
    raw = RawDataset([[document] for document in texts], code=4)
    web = Shuffle(IndexedDataset(raw.write(tmp_path / "web")), seed=1)
    code = Shuffle(SequenceCorpus(codes), seed=2)
    blend = Blend([web, code], [0.6, 0.4], switches=[(50, [0.2, 0.8])])
    expected = sorted(
        token
        for i in range(len(blend))
        for part, number in [blend.locate(i)]
        for token in (texts, codes)[part][(web, code)[part].document_at(number)]
    )
    found: list[int] = []
    for batch in _micro_batches(_steps({"text": blend})):
        found.extend(gather(batch, [blend]).tolist())
    assert sorted(found) == expected


def test_the_type_of_the_tokens_can_be_chosen() -> None:
    corpus = SequenceCorpus(_documents(30, seed=0))
    batch = next(_micro_batches(_steps({"text": corpus})))
    assert gather(batch, [corpus], dtype=np.int32).dtype == np.int32


def test_a_stream_without_a_corpus_is_named() -> None:
    corpora = {"text": SequenceCorpus([[1]] * 9), "code": SequenceCorpus([[2]] * 999)}
    batch = next(_micro_batches(_steps(corpora)))
    for given in ([corpora["text"]], {0: corpora["text"]}):
        with pytest.raises(InvalidArgumentError) as caught:
            gather(batch, given)
        assert str(caught.value) == (
            "corpora: none for stream 1 is not accepted; accepted: 1 corpora with one "
            "for each stream of the job"
        )


def test_what_is_no_micro_batch_is_refused() -> None:
    corpus = SequenceCorpus([[1, 2]] * 500)
    step: Any = next(iter(_steps({"text": corpus})))
    with pytest.raises(InvalidArgumentError, match=r"^micro_batch: Step .* a Micro"):
        gather(step, [corpus])


def test_a_rank_that_there_is_not_is_refused() -> None:
    corpus = SequenceCorpus([[1, 2]] * 500)
    batch = next(_micro_batches(_steps({"text": corpus})))
    with pytest.raises(
        InvalidArgumentError, match="cp_rank: 2 is not accepted; accepted: 0 to 1"
    ):
        gather(batch, [corpus], cp_rank=CP)


def test_another_corpus_than_was_ingested_is_refused() -> None:
    corpus = SequenceCorpus([[1, 2, 3]] * 500)
    batch = next(_micro_batches(_steps({"text": corpus})))
    with pytest.raises(InvalidArgumentError, match=r"document: [0-9]+ is not accepted"):
        gather(batch, [SequenceCorpus([[1, 2, 3]])])
    with pytest.raises(
        InvalidArgumentError,
        match="document 0: end: 3 is not accepted; accepted: 0 to 2",
    ):
        gather(batch, [SequenceCorpus([[1, 2]] * 500)])


def test_a_corpus_that_gives_too_few_tokens_is_found_out() -> None:
    class Short:
        def tokens(
            self, document: int, begin: int = 0, end: int | None = None
        ) -> Tokens:
            assert (document, begin, end) == (0, 0, 3)
            return np.zeros(2, dtype=np.int32)

    corpus = SequenceCorpus([[1, 2, 3]] * 500)
    batch = next(_micro_batches(_steps({"text": corpus})))
    short: TokenCorpus = Short()
    with pytest.raises(DataLossError) as caught:
        gather(batch, [short])
    assert str(caught.value) == (
        "stream 0, document 0: the corpus gave 2 tokens from 0 on; it was asked for 3"
    )


def test_a_token_that_a_type_has_no_room_for_is_refused() -> None:
    """It would become another."""
    corpus = SequenceCorpus([[70_000 + i] * 9 for i in range(999)])
    batch = next(_micro_batches(_steps({"text": corpus})))
    with pytest.raises(InvalidArgumentError) as caught:
        gather(batch, [corpus], dtype=np.uint16)
    assert str(caught.value) == (
        "dtype: uint16 is not accepted; accepted: a type of integers that has "
        f"{gather(batch, [corpus])[0]}, which is a token"
    )
    narrow = SequenceCorpus([[7] * 9] * 999)
    batch = next(_micro_batches(_steps({"text": narrow})))
    assert set(gather(batch, [narrow], dtype=np.uint8).tolist()) == {7}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"corpora": SequenceCorpus([[1]])},
            "corpora: SequenceCorpus is not accepted; accepted: a list of corpora, or "
            "a mapping, by the job's order of streams",
        ),
        (
            {"corpora": [LengthCorpus([3] * 500)]},
            "corpora[0]: LengthCorpus is not accepted; accepted: one that has tokens, "
            "not lengths alone",
        ),
        (
            {"dtype": np.float16},
            "dtype: float16 is not accepted; accepted: a type of integers",
        ),
        ({"dtype": bool}, "dtype: bool is not accepted; accepted: a type of integers"),
        ({"dtype": "x"}, "dtype: 'x' is not accepted; accepted: a type of integers"),
        (
            {"cp_rank": "1"},
            "cp_rank: '1' is not accepted; accepted: an integer, 0 to 4294967295",
        ),
    ],
)
def test_an_argument_of_another_kind_is_named(
    arguments: dict[str, Any], message: str
) -> None:
    corpus = SequenceCorpus([[1, 2, 3]] * 500)
    batch = next(_micro_batches(_steps({"text": corpus})))
    whole: dict[str, Any] = {"corpora": [corpus]}
    assert refusal(gather, batch, **(whole | arguments)) == message

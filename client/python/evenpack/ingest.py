"""Feeds a stream of a job from a corpus, and goes on where the stream is.

    from evenpack.corpora import IndexedDataset
    from evenpack.ingest import ingest

    with client.producer("run-7", "text") as producer:
        ingest(producer, IndexedDataset("data/web"))

Document i of the corpus becomes the one with sequence number i of the stream. So the
same program can be run again: it begins with the first document that the server hasn't.
With `by_value` the documents' tokens go along, and come to the trainer in its steps;
with `server_reads` only their place does, and the server reads them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from time import monotonic
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import (
    Corpus,
    HasBarriers,
    LeavesDocuments,
    documents_of,
)
from evenpack.corpora.file_portions import portions_in_files
from evenpack.corpora.token_portions import Portion, portions_with_tokens
from evenpack.document_columns import Columns, at_most, select
from evenpack.invalid_argument import checked_boolean, checked_integer, invalid_argument
from evenpack.producer import TokenFile
from evenpack.progress_bar import ProgressBar, progress_bar

_log = logging.getLogger("evenpack")

_MOST_BATCH = 1 << 20
# Cuts documents of a corpus from a number on into portions.
_Cut = Callable[[object, int, Columns], Iterator[Portion]]


class DocumentProducer(Protocol):
    """What takes a stream's documents: `evenpack.producer.Producer` is one."""

    @property
    def next_sequence(self) -> int:
        """Number of the next document that is added."""
        ...

    @property
    def accepted_sequence(self) -> int:
        """All documents below are accepted."""
        ...

    def add(
        self,
        lengths: NDArray[np.uint32],
        ids: NDArray[np.uint64] | None = None,
        loss_tokens: NDArray[np.uint32] | None = None,
        sources: NDArray[np.uint32] | None = None,
        *,
        token_ids: NDArray[np.uint32] | None = None,
        token_file: TokenFile | None = None,
    ) -> None:
        """Adds documents; waits while the job is full.

        Without token ids, or a file of theirs, it is called without that argument.
        """
        ...

    def flush(self) -> None:
        """Waits until all that was added is accepted."""
        ...

    def end_of_stream(self) -> None:
        """No document follows; waits until that is accepted."""
        ...


@dataclass(frozen=True)
class IngestReport:
    """What one run of `ingest` did.

    Attributes:
        first_sequence: number of the first document that this run added.
        next_sequence: how many documents the stream has now; all are accepted.
        tokens: of the documents that this run added.
        ended: the stream was ended.
        seconds: by the clock.
    """

    first_sequence: int
    next_sequence: int
    tokens: int
    ended: bool
    seconds: float

    @property
    def documents(self) -> int:
        """How many this run added."""
        return self.next_sequence - self.first_sequence


def ingest(
    producer: DocumentProducer,
    corpus: Corpus,
    *,
    documents: int | None = None,
    end_of_stream: bool = True,
    by_value: bool = False,
    server_reads: bool = False,
    batch_documents: int = 8192,
    label: str = "sending",
    progress: ProgressBar | None = None,
) -> IngestReport:
    """Adds the documents of a corpus that a stream doesn't have yet.

    Returns when all are accepted. Where the corpus has barriers, as a `Blend` with
    switches has, all documents before one are accepted before the next is added. Waits
    for as long as the job is full. After an error of the corpus the documents before it
    are accepted, none behind it is sent, and the stream isn't ended. One thread.

    A `Blend` ends where a corpus that is due has no more. Where the stream was ended
    with it, a warning in the log `evenpack` says which other corpora have documents
    left, and how many.

    Args:
        producer: of the stream; it says which document is next. It stays open.
        corpus: the same as in every run before, or one that begins with the same
            documents, of which those from number `producer.next_sequence` on are sent.
        documents: how many of the corpus's documents the stream is to have in all;
            None: all of them.
        end_of_stream: no document follows.
        by_value: the documents' token ids go along, for a job whose payload travels by
            value. A million of them are read at a time, or those of one document.
        server_reads: by value, but only the place of the tokens goes along: the server
            reads them in the corpus's files, at the paths that these have here, within
            its --payload-root. For an `IndexedDataset` of uint16 or int32, and mixtures
            of some.
        batch_documents: given to the producer at a time, at most. 1 to 1,048,576.
        label: what the progress bar says.
        progress: None: a bar on standard error if that is a terminal, tqdm's where it
            is installed.

    Raises:
        InvalidArgumentError: an argument is outside its range; the stream has more
            documents than it is to have; the corpus has fewer, or is damaged; by value:
            it has no tokens, or one that is not 0 to 2^32 - 1; server_reads: it has no
            such files, or the server can't read them.
        FailedPreconditionError: server_reads, and the server has no --payload-root.
        DataLossError: the corpus gave another number of tokens than a document has.
        EvenpackError: as the producer raises them.
    """
    started = monotonic()
    batch_documents = checked_integer(
        "batch_documents", batch_documents, 1, _MOST_BATCH
    )
    end_of_stream = checked_boolean("end_of_stream", end_of_stream)
    by_value = checked_boolean("by_value", by_value)
    server_reads = checked_boolean("server_reads", server_reads)
    _check_ends(producer, corpus)
    if server_reads and not by_value:
        raise invalid_argument("server_reads", server_reads, "False without by_value")
    first = producer.next_sequence
    known = documents_of(corpus)
    if documents is not None:
        most = (1 << 63) - 1 if known is None else known
        documents = checked_integer("documents", documents, 0, most)
    total = _total(known, documents, first)
    parts = _parts(corpus.documents(first), first, documents, _barriers(corpus))
    batches = _batches(parts, batch_documents)
    how = portions_in_files if server_reads else portions_with_tokens
    portions = _portions(batches, corpus, first, how if by_value else None)
    tokens = 0
    with progress or progress_bar(label, first, total) as bar:
        for portion in _guarded(producer, portions):
            if portion is None:
                producer.flush()
                continue
            tokens += int(portion.columns.lengths.sum(dtype=np.uint64))
            _add(producer, portion)
            bar.advance(len(portion.columns.lengths))
        producer.flush()
    _check_complete(producer.next_sequence, documents)
    if end_of_stream:
        producer.end_of_stream()
        if documents is None:
            _warn_of_left_over(corpus, producer.next_sequence)
    return IngestReport(
        first, producer.next_sequence, tokens, end_of_stream, monotonic() - started
    )


def _check_ends(producer: object, corpus: object) -> None:
    if not hasattr(producer, "add"):
        accepted = "a Producer, as Client.producer() opens it"
        raise invalid_argument("producer", type(producer).__name__, accepted)
    if not isinstance(corpus, Corpus):
        accepted = "a corpus, as evenpack.corpora has them"
        raise invalid_argument("corpus", type(corpus).__name__, accepted)


def _total(known: int | None, documents: int | None, first: int) -> int | None:
    """How many documents the stream is to have, where that is known."""
    total = known if documents is None else documents
    if total is not None and first > total:
        accepted = f"up to {total}, which the stream is to have; is it the same corpus?"
        raise invalid_argument("the stream's next sequence number", first, accepted)
    return total


def _barriers(corpus: Corpus) -> tuple[int, ...]:
    return corpus.barriers if isinstance(corpus, HasBarriers) else ()


def _parts(
    chunks: Iterator[Columns], first: int, end: int | None, barriers: Sequence[int]
) -> Iterator[Columns | None]:
    """The documents before `end`; None where there is a barrier."""
    for columns in chunks:
        begin, size = 0, len(columns.lengths)
        if end is not None:
            size = min(size, end - first)
        inside = [b - first for b in barriers if first <= b < first + size]
        for stop in chain(inside, [size]):
            if stop > begin:
                yield select(columns, slice(begin, stop))
            if stop < size:
                yield None
            begin = stop
        first += size
        if first == end:
            return


def _batches(parts: Iterator[Columns | None], batch: int) -> Iterator[Columns | None]:
    """The parts, at most `batch` documents at a time."""
    for part in parts:
        if part is None:
            yield None
            continue
        yield from at_most(part, batch)


def _portions(
    batches: Iterator[Columns | None], corpus: Corpus, first: int, how: _Cut | None
) -> Iterator[Portion | None]:
    """The batches, with their tokens or the place of these where that is wanted."""
    for batch in batches:
        if batch is None:
            yield None
        elif how is not None:
            yield from how(corpus, first, batch)
            first += len(batch.lengths)
        else:
            yield Portion(batch)


def _guarded(
    producer: DocumentProducer, portions: Iterator[Portion | None]
) -> Iterator[Portion | None]:
    """The portions; after an error of the corpus what was added is accepted first."""
    while True:
        try:
            portion = next(portions)
        except StopIteration:
            return
        except Exception:
            producer.flush()
            raise
        yield portion


def _warn_of_left_over(corpus: Corpus, documents: int) -> None:
    """Of a stream that ended with its corpus, which has given so many."""
    if not isinstance(corpus, LeavesDocuments):
        return
    left = corpus.left_over(documents)
    if left:
        each = ", ".join(
            f"{name} has {count} documents" for name, count in left.items()
        )
        _log.warning(
            "the stream is ended after %d documents, where a corpus of its %s had no "
            "more; %s left, which are not sent",
            documents,
            type(corpus).__name__,
            each,
        )


def _add(producer: DocumentProducer, portion: Portion) -> None:
    some = portion.columns
    columns = some.lengths, some.ids, some.loss_tokens, some.sources
    if portion.token_ids is not None:
        producer.add(*columns, token_ids=portion.token_ids)
    elif portion.token_file is not None:
        producer.add(*columns, token_file=portion.token_file)
    else:
        producer.add(*columns)


def _check_complete(had: int, documents: int | None) -> None:
    if documents is not None and had < documents:
        raise invalid_argument(
            "documents", documents, f"up to {had}, which the corpus has"
        )

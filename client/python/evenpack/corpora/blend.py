"""Several corpora as one, in proportion to weights that may change on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.column_assembly import ColumnAssembly
from evenpack.corpora.corpus import (
    CHUNK_DOCUMENTS,
    Corpus,
    LeavesDocuments,
    Tokens,
    checked_corpora,
    document_tokens,
    documents_of,
)
from evenpack.corpora.token_place import TokenPlace, token_place_of
from evenpack.corpora.turns import Turns, Weight
from evenpack.document_columns import Columns, select
from evenpack.invalid_argument import checked_integer, invalid_argument, quoted

Entry = TypeVar("Entry")

_MOST_SOURCE = (1 << 32) - 1


@dataclass(frozen=True)
class _Stage:
    """Documents from number `begin` on.

    Attributes:
        begin: the first document.
        end: the one behind the last; None: there is no other stage.
        taken: documents of each corpus before `begin`.
        turns: who gives the documents.
    """

    begin: int
    end: int | None
    taken: list[int]
    turns: Turns


class Blend:
    """Documents of several corpora by weights, each corpus in its order.

    Weights count documents: for shares of tokens, divide each by the mean length of the
    corpus's documents. After every multiple of the weights' sum each corpus has given
    its share exactly (see `evenpack.corpora.turns`). Where a document comes from
    follows from its number alone, so that going on anywhere costs nothing.

    It ends where a corpus that is due has no more; `Repetition` and `Shuffle` give a
    corpus more than once. Thread contract: that of the corpora.
    """

    def __init__(
        self,
        corpora: Sequence[Corpus],
        weights: Sequence[Weight],
        *,
        switches: Sequence[tuple[int, Sequence[Weight]]] = (),
        sources: Sequence[int] | None = None,
    ) -> None:
        """Takes corpora and weights.

        Args:
            corpora: in an order that must always be the same. Barriers of one, such as
                a Blend's with switches, aren't kept.
            weights: one for each, as `whole_weights` has them. One of 0 gives nothing.
            switches: (document number, weights) rising: from that document on the
                weights are these. A corpus goes on where it was, and nothing is sent
                before all documents in front of the switch are accepted.
            sources: the number that stands for each corpus, 0 to 2^32 - 1, in place of
                any of its own; None: its index.

        Raises:
            InvalidArgumentError: naming what can't be.
        """
        self._corpora = checked_corpora(corpora)
        given = self._each(
            "sources", range(len(self._corpora)) if sources is None else sources
        )
        self._sources = [
            checked_integer(f"sources[{i}]", source, 0, _MOST_SOURCE)
            for i, source in enumerate(given)
        ]
        self._stages = self._make_stages([(0, weights), *_checked_switches(switches)])

    def _each(self, name: str, values: Iterable[Entry]) -> list[Entry]:
        """One for each corpus."""
        accepted = f"{len(self._corpora)}, one for each corpus"
        if not isinstance(values, Iterable):
            raise invalid_argument(name, quoted(values), accepted)
        found = list(values)
        if len(found) != len(self._corpora):
            raise invalid_argument(name, f"{len(found)} entries", accepted)
        return found

    def _make_stages(
        self, starts: Sequence[tuple[int, Sequence[Weight]]]
    ) -> list[_Stage]:
        stages: list[_Stage] = []
        for begin, weights in starts:
            each = self._each("weights", weights)
            taken = [0] * len(self._corpora)
            if stages:
                last = stages[-1]
                if begin <= last.begin:
                    accepted = f"above {last.begin}, where the one before begins"
                    raise invalid_argument("switches", quoted(begin), accepted)
                stages[-1] = replace(last, end=begin)
                taken = _taken(stages[-1], begin)
            stages.append(_Stage(begin, None, taken, Turns(each)))
        return stages

    @property
    def barriers(self) -> tuple[int, ...]:
        """See `HasBarriers`: the switches."""
        return tuple(stage.begin for stage in self._stages[1:])

    def __len__(self) -> int:
        """How many documents there are until a corpus that is due has no more.

        Raises:
            TypeError: a corpus that has a turn doesn't know how many it has.
        """
        least, most = 0, self._most_documents()
        while least < most:
            middle = (least + most + 1) // 2
            if self._has(middle):
                least = middle
            else:
                most = middle - 1
        return least

    def _most_documents(self) -> int:
        """A number that is not below the length."""
        total = 0
        for i, corpus in enumerate(self._corpora):
            if any(stage.turns.weights[i] for stage in self._stages):
                total += len(corpus)  # type: ignore[arg-type]
        return total

    def _has(self, documents: int) -> bool:
        taken = _taken(self._stage_of(documents), documents)
        return all(
            count == 0 or count <= len(corpus)  # type: ignore[arg-type]
            for count, corpus in zip(taken, self._corpora, strict=True)
        )

    def left_over(self, documents: int) -> dict[str, int]:
        """See `LeavesDocuments`; a corpus of weight 0 there is left out on purpose."""
        documents = checked_integer("documents", documents, 0, (1 << 62) - 1)
        stage = self._stage_of(documents)
        found = {}
        for i, taken in enumerate(_taken(stage, documents)):
            corpus = self._corpora[i]
            size = documents_of(corpus)
            if size is None or stage.turns.weights[i] == 0:
                continue
            if size > taken:
                found[f"corpora[{i}] ({type(corpus).__name__})"] = size - taken
            elif isinstance(corpus, LeavesDocuments):
                for name, count in corpus.left_over(taken).items():
                    found[f"corpora[{i}].{name}"] = count
        return found

    def locate(self, document: int) -> tuple[int, int]:
        """(index of the corpus, number within it) of a document.

        Args:
            document: 0 or more; those beyond the end are as if it went on.

        Raises:
            InvalidArgumentError: it is negative.
        """
        document = checked_integer("document", document, 0, (1 << 62) - 1)
        parts, numbers = self._assign(document, document + 1)
        return int(parts[0]), int(numbers[0])

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        part, number = self.locate(document)
        return document_tokens(self._corpora[part], number, begin, end)

    def token_place(self, document: int) -> TokenPlace:
        """See `TokenFileCorpus`."""
        part, number = self.locate(document)
        return token_place_of(self._corpora[part], number)

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """See `Corpus`; there are ids and sources.

        The id of a document is its corpus's, or else its number here. Documents
        before one that a corpus refuses come before its error.
        """
        documents = documents_of(self)
        most = (1 << 62) if documents is None else documents
        first = checked_integer("first", first, 0, most)
        return self._chunks(first)

    def _chunks(self, first: int) -> Iterator[Columns]:
        taken = _taken(self._stage_of(first), first)
        readers = [
            _Reader(corpus, at) for corpus, at in zip(self._corpora, taken, strict=True)
        ]
        while True:
            stage = self._stage_of(first)
            last = first + CHUNK_DOCUMENTS
            if stage.end is not None:
                last = min(last, stage.end)
            parts, _ = self._assign(first, last)
            columns, stopped = self._take(first, parts, readers)
            if len(columns.lengths) > 0:
                yield columns
            if stopped is not None:
                if stopped.error is not None:
                    raise stopped.error
                return
            first = last

    def _stage_of(self, document: int) -> _Stage:
        return [stage for stage in self._stages if stage.begin <= document][-1]

    def _assign(
        self, first: int, last: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Corpus and number there of documents, all of one stage."""
        stage = self._stage_of(first)
        parts, positions = stage.turns.assign(
            _numbers(first - stage.begin, last - first)
        )
        return parts, positions + np.array(stage.taken, dtype=np.int64)[parts]

    def _take(
        self, first: int, parts: NDArray[np.int64], readers: Sequence[_Reader]
    ) -> tuple[Columns, _Reader | None]:
        """Documents up to the first that is missing, and whose reader stopped there."""
        given: list[tuple[int, NDArray[np.int64], list[Columns]]] = []
        limit, stopped = len(parts), None
        for part in np.unique(parts).tolist():
            where = np.flatnonzero(parts == part)
            pieces = readers[part].take(len(where))
            read = sum(len(piece.lengths) for piece in pieces)
            if read < len(where) and where[read] < limit:
                limit, stopped = int(where[read]), readers[part]
            given.append((part, where, pieces))
        assembly = ColumnAssembly(_numbers(first, limit), has_ids=True)
        for part, where, pieces in given:
            begin = 0
            for piece in pieces:
                there = where[begin : begin + len(piece.lengths)]
                begin += len(there)
                there = there[there < limit]
                source = np.full(len(there), self._sources[part], dtype=np.uint32)
                known = select(piece, slice(0, len(there)))
                assembly.put(there, replace(known, sources=source))
        return assembly.columns(), stopped


def _checked_switches(
    switches: Iterable[tuple[int, Sequence[Weight]]],
) -> Iterator[tuple[int, Sequence[Weight]]]:
    accepted = "pairs of a document number and weights"
    if not isinstance(switches, Iterable):
        raise invalid_argument("switches", quoted(switches), accepted)
    for i, switch in enumerate(switches):
        if not (isinstance(switch, Sequence) and len(switch) == 2):
            raise invalid_argument(f"switches[{i}]", quoted(switch), accepted)
        begin, weights = switch
        yield checked_integer(f"switches[{i}]", begin), weights


def _numbers(first: int, documents: int) -> NDArray[np.int64]:
    return np.arange(first, first + documents, dtype=np.int64)


class _Reader:
    """A corpus's documents from one on, as many at a time as are wanted."""

    def __init__(self, corpus: Corpus, first: int) -> None:
        self._corpus = corpus
        self._first = first
        self._chunks: Iterator[Columns] | None = None
        self._rest: Columns | None = None
        self.error: Exception | None = None

    def take(self, documents: int) -> list[Columns]:
        """So many, in pieces; fewer at the end, or before an error."""
        pieces = []
        while documents > 0:
            piece = self._next()
            if piece is None:
                break
            size = len(piece.lengths)
            if size > documents:
                self._rest = select(piece, slice(documents, size))
                piece = select(piece, slice(0, documents))
            pieces.append(piece)
            documents -= len(piece.lengths)
        return pieces

    def _next(self) -> Columns | None:
        if self._rest is not None:
            rest, self._rest = self._rest, None
            return rest
        try:
            if self._chunks is None:
                self._chunks = self._corpus.documents(self._first)
            return next(self._chunks, None)
        except Exception as error:  # whatever the corpus raises, in its turn
            self.error = error
            return None


def _taken(stage: _Stage, documents: int) -> list[int]:
    """Documents of each corpus among the first `documents`, the last of that stage."""
    here = stage.turns.taken(documents - stage.begin)
    return [before + more for before, more in zip(stage.taken, here, strict=True)]

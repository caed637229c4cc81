"""Tests of evenpack.corpora.token_portions."""

from __future__ import annotations

import numpy as np
import pytest
from evenpack.corpora import LengthCorpus, SequenceCorpus, token_portions
from evenpack.corpora.corpus import Tokens
from evenpack.corpora.token_portions import Portion, portions_with_tokens
from evenpack.document_columns import Columns
from evenpack.errors import DataLossError, EvenpackError, InvalidArgumentError

DOCUMENTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10], [11, 12], [13], [14, 15]]


@pytest.fixture(autouse=True)
def _few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a portion, at most."""
    monkeypatch.setattr(token_portions, "PORTION_TOKENS", 4)


def _columns(first: int, documents: list[list[int]]) -> Columns:
    lengths = np.array([len(d) for d in documents], dtype=np.uint32)
    return Columns(lengths, ids=np.arange(first, first + len(lengths), dtype=np.uint64))


def _rows(portion: Portion) -> tuple[list[int], list[int]]:
    assert portion.columns.ids is not None
    assert portion.token_ids is not None
    assert portion.token_ids.dtype == np.uint32
    return portion.columns.ids.tolist(), portion.token_ids.tolist()


def test_a_portion_ends_before_it_would_have_too_many_tokens() -> None:
    """A document that has more than that comes alone."""
    portions = portions_with_tokens(
        SequenceCorpus(DOCUMENTS), 0, _columns(0, DOCUMENTS)
    )
    assert [_rows(portion) for portion in portions] == [
        ([0, 1], [1, 2, 3, 4]),
        ([2], [5, 6, 7, 8, 9, 10]),
        ([3, 4], [11, 12, 13]),
        ([5], [14, 15]),
    ]


def test_documents_are_those_from_the_first_on() -> None:
    """Not from the corpus's."""
    corpus = SequenceCorpus(DOCUMENTS)
    (portion,) = portions_with_tokens(corpus, 3, _columns(3, DOCUMENTS[3:5]))
    assert _rows(portion) == ([3, 4], [11, 12, 13])


class _Wrong(SequenceCorpus):
    """Gives other tokens, or an error, for one of its documents."""

    def __init__(self, document: int, given: list[int] | Exception) -> None:
        super().__init__(DOCUMENTS)
        self._document = document
        self._given = given

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        if document != self._document:
            return super().tokens(document, begin, end)
        if isinstance(self._given, Exception):
            raise self._given
        return np.array(self._given, dtype=np.int64)


@pytest.mark.parametrize(
    ("document", "given", "error"),
    [
        (
            1,
            [4, 4],
            DataLossError("document 1: the corpus gave 2 tokens; it has 1"),
        ),
        (4, [], DataLossError("document 4: the corpus gave 0 tokens; it has 1")),
        (
            3,
            [11, -1],
            InvalidArgumentError(
                "document 3: token_ids[1]: -1 is not accepted; accepted: 0 to "
                "4294967295"
            ),
        ),
        (
            0,
            [1, 1 << 32, 3],
            InvalidArgumentError("document 0: token_ids[1]: 4294967296"),
        ),
        (5, DataLossError("gone"), DataLossError("gone")),
    ],
)
def test_documents_before_an_error_come_before_it(
    document: int, given: list[int] | Exception, error: EvenpackError
) -> None:
    """And none behind it."""
    portions = portions_with_tokens(_Wrong(document, given), 0, _columns(0, DOCUMENTS))
    seen: list[int] = []
    with pytest.raises(type(error)) as caught:
        for portion in portions:
            ids, tokens = _rows(portion)
            seen += ids
            assert tokens == [t for i in ids for t in DOCUMENTS[i]]
    assert str(caught.value).startswith(str(error))
    assert seen == list(range(document))


def test_a_corpus_without_tokens_is_refused() -> None:
    """The message names its kind."""
    portions = portions_with_tokens(LengthCorpus([1]), 0, _columns(0, [[1]]))
    with pytest.raises(InvalidArgumentError, match="LengthCorpus"):
        next(portions)

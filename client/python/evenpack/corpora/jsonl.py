"""Corpora of JSON objects, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evenpack.corpora.corpus import (
    CHUNK_DOCUMENTS,
    Numbers,
    Tokens,
    check_numbers,
    checked_piece,
)
from evenpack.corpora.fields import Fields
from evenpack.corpora.jsonl_document import JsonlDocument, parse_document
from evenpack.corpora.line_index import LineIndex
from evenpack.corpora.tokenizer import Tokenizer, checked_tokenizer
from evenpack.document_columns import Columns
from evenpack.errors import EvenpackError
from evenpack.invalid_argument import (
    check_class,
    checked_integer,
    checked_path,
    invalid_argument,
)

# Of lines that are parsed together.
_CHUNK_BYTES = 16 << 20


class JsonlCorpus:
    """Documents of a JSONL file: document i is line i, both counted from 0.

    Of lines that both take, the same documents as `evenpackctl ingest --jsonl` sends:
    an id is the field "id", where that is a whole number, and else the document's
    number. Messages count lines from 1. Texts are tokenized whenever their lengths or
    tokens are asked for; `tokenize_jsonl` does it once. Threads may share one; it can
    be pickled.
    """

    def __init__(
        self,
        path: str | Path,
        fields: Fields,
        *,
        tokenizer: Tokenizer | None = None,
        index_path: str | Path | None = None,
    ) -> None:
        """Finds where each line begins; lines are parsed when they are asked for.

        Args:
            path: of the file, which is not to change.
            fields: every field that is named must be in every line.
            tokenizer: of texts; None: one token for each byte of UTF-8.
            index_path: a file that keeps where lines begin, so that a large file is
                looked through once; made where it is missing.

        Raises:
            InvalidArgumentError: the file can't be opened.
        """
        self._arguments = (path, fields, tokenizer, index_path)
        check_class("fields", fields, Fields, "a Fields")
        self._fields = fields
        self._tokenizer = checked_tokenizer(tokenizer)
        saved = None
        if index_path is not None:
            saved = Path(checked_path("index_path", index_path))
        file = Path(checked_path("path", path))
        self._lines = LineIndex(file, "a file with one JSON object a line", saved)

    def __reduce__(self) -> tuple[Any, ...]:
        """By its arguments."""
        return _open, self._arguments

    def __len__(self) -> int:
        """Lines."""
        return len(self._lines)

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """See `Corpus`; the documents before a bad line come before its error."""
        first = checked_integer("first", first, 0, len(self))
        return self._chunks(first)

    def _chunks(self, first: int) -> Iterator[Columns]:
        while first < len(self):
            last = min(first + CHUNK_DOCUMENTS, len(self))
            last = min(last, self._lines.end_of_block(first, _CHUNK_BYTES))
            columns, error = self._columns(range(first, last))
            if len(columns.lengths) > 0:
                yield columns
            if error is not None:
                raise error
            first = last

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""
        check_numbers(numbers, len(self))
        columns, error = self._columns(numbers.tolist())
        if error is not None:
            raise error
        return columns

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        document = checked_integer("document", document, 0, len(self) - 1)
        content = self._parse(document).content
        if isinstance(content, int):
            kind = f"field '{self._fields.content}'"
            accepted = "fields with a text or with tokens"
            raise invalid_argument(
                "tokens", f"{kind}, a length,", accepted, str(self._lines.path)
            )
        if isinstance(content, str):
            content = self._tokenizer.encode([content])[0]
        begin, last = checked_piece(document, begin, end, len(content))
        return content[begin:last]

    def _place(self, number: int) -> str:
        return f"{self._lines.path}: line {number + 1}"

    def _parse(self, number: int) -> JsonlDocument:
        line = self._lines.line(number)
        return parse_document(line, self._fields, self._place(number))

    def _columns(self, numbers: Iterable[int]) -> tuple[Columns, EvenpackError | None]:
        """The documents before the first bad one, and what is wrong with that."""
        found: list[tuple[int, JsonlDocument]] = []
        error: EvenpackError | None = None
        try:
            for number in numbers:
                found.append((number, self._parse(number)))
        except EvenpackError as wrong:
            error = wrong
        lengths = self._lengths([document for _, document in found])
        good = len(found)
        for i, ((number, document), length) in enumerate(
            zip(found, lengths, strict=True)
        ):
            wrong_length = self._wrong_length(number, document, length)
            if wrong_length is not None:
                good, error = i, wrong_length
                break
        return self._assemble(found[:good], lengths[:good]), error

    def _lengths(self, documents: list[JsonlDocument]) -> list[int]:
        if self._fields.text is not None:
            texts = [d.content for d in documents if isinstance(d.content, str)]
            return self._tokenizer.count(texts)
        return [
            d.content if isinstance(d.content, int) else len(d.content)
            for d in documents
        ]

    def _wrong_length(
        self, number: int, document: JsonlDocument, length: int
    ) -> EvenpackError | None:
        place = self._place(number)
        if length == 0:
            field = f"field '{self._fields.content}'"
            return invalid_argument(field, "one without a token", "at least one", place)
        if document.loss_tokens is not None and document.loss_tokens > length:
            field = f"field '{self._fields.loss_tokens}'"
            accepted = f"0 to {length}, the tokens of the document"
            return invalid_argument(field, document.loss_tokens, accepted, place)
        return None

    def _assemble(
        self, documents: list[tuple[int, JsonlDocument]], lengths: list[int]
    ) -> Columns:
        ids = [number if d.id is None else d.id for number, d in documents]
        loss_tokens = [d.loss_tokens for _, d in documents if d.loss_tokens is not None]
        sources = [d.source for _, d in documents if d.source is not None]
        has_loss_tokens = self._fields.loss_tokens is not None
        return Columns(
            np.array(lengths, dtype=np.uint32),
            np.array(ids, dtype=np.uint64),
            np.array(loss_tokens, dtype=np.uint32) if has_loss_tokens else None,
            np.array(sources, dtype=np.uint32) if self._fields.source else None,
        )


def _open(
    path: str | Path,
    fields: Fields,
    tokenizer: Tokenizer | None,
    index_path: str | Path | None,
) -> JsonlCorpus:
    return JsonlCorpus(path, fields, tokenizer=tokenizer, index_path=index_path)

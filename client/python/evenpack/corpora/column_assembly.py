"""Columns of documents put together from parts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenpack.corpora.corpus import Numbers
from evenpack.document_columns import Columns, Where


@dataclass
class ColumnAssembly:
    """Columns of some documents, part by part.

    A column that only some parts have gets, for the others, what the server takes it
    for: the document's number, its length, 0.

    Attributes:
        numbers: the documents'.
        has_ids: with ids even where no part has them. What puts several corpora
            together needs that: a document's id must not depend on which others are
            read with it.
    """

    numbers: Numbers
    has_ids: bool = False
    _parts: list[tuple[Where, Columns]] = field(default_factory=list)

    def put(self, where: Where, columns: Columns) -> None:
        """Gives what is known of the documents `where`, in that order."""
        self._parts.append((where, columns))

    def columns(self) -> Columns:
        """All together; every document must have been given."""
        lengths = np.zeros(len(self.numbers), dtype=np.uint32)
        for where, part in self._parts:
            lengths[where] = part.lengths
        ids = self.numbers.astype(np.uint64) if self.has_ids else None
        loss_tokens = sources = None
        for where, part in self._parts:
            if part.ids is not None:
                ids = self.numbers.astype(np.uint64) if ids is None else ids
                ids[where] = part.ids
            if part.loss_tokens is not None:
                loss_tokens = lengths.copy() if loss_tokens is None else loss_tokens
                loss_tokens[where] = part.loss_tokens
            if part.sources is not None:
                sources = np.zeros_like(lengths) if sources is None else sources
                sources[where] = part.sources
        return Columns(lengths, ids, loss_tokens, sources)

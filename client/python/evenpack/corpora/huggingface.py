"""Corpora that Hugging Face's `datasets` has loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenpack.corpora.arrow_columns import ArrowColumns
from evenpack.corpora.corpus import (
    Numbers,
    RandomAccess,
    Tokens,
    check_numbers,
    checked_piece,
)
from evenpack.corpora.fields import Fields
from evenpack.corpora.optional_library import optional_library
from evenpack.corpora.tokenizer import Tokenizer
from evenpack.document_columns import Columns
from evenpack.invalid_argument import checked_integer, invalid_argument

# A datasets.Dataset; the library is not always there.
HuggingFaceDataset = Any


class HuggingFaceCorpus(RandomAccess):
    """Documents of a `datasets.Dataset`: document i is row i.

    A row without a token is refused: `dataset.filter` drops such rows. Threads may
    share one; it can be pickled if the dataset can.
    """

    def __init__(
        self,
        dataset: HuggingFaceDataset,
        fields: Fields,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """Takes a dataset; rows are read when they are asked for.

        Args:
            dataset: a `datasets.Dataset`, of any format; selected or shuffled ones too.
                A streaming one has no rows by number: `IterableCorpus` takes its
                lengths.
            fields: names of columns.
            tokenizer: of texts; None: one token for each byte of UTF-8.

        Raises:
            InvalidArgumentError: it is none, or a column is missing or of another type.
        """
        library = optional_library("datasets", "datasets", "corpus")
        if not isinstance(dataset, library.Dataset):
            kind = type(dataset).__name__
            raise invalid_argument(
                "dataset", kind, "a datasets.Dataset, one split of it"
            )
        schema = dataset.features.arrow_schema
        self._reader = ArrowColumns("dataset", schema, fields, tokenizer)
        self._rows = dataset.select_columns(self._reader.needed).with_format("arrow")

    def __len__(self) -> int:
        """Rows."""
        return len(self._rows)

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""
        check_numbers(numbers, len(self))
        if len(numbers) > 0 and (np.diff(numbers) == 1).all():
            first = int(numbers[0])
            # A slice is not copied.
            table = self._rows[first : first + len(numbers)]
        else:
            table = self._rows[numbers.tolist()]
        return self._reader.columns(table, numbers)

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        document = checked_integer("document", document, 0, len(self) - 1)
        table = self._rows[document : document + 1]
        found = self._reader.tokens(table, 0, document)
        begin, last = checked_piece(document, begin, end, len(found))
        return found[begin:last]

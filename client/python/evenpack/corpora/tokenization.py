"""Texts of a JSONL file made into an indexed dataset, once."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import DTypeLike

from evenpack.corpora.corpus import CHUNK_DOCUMENTS
from evenpack.corpora.fields import Fields
from evenpack.corpora.indexed_dataset import IndexedDataset
from evenpack.corpora.indexed_dataset_writer import (
    IndexedDatasetWriter,
    token_type_for,
)
from evenpack.corpora.jsonl_document import parse_document
from evenpack.corpora.line_index import LineIndex
from evenpack.corpora.tokenizer import Tokenizer, checked_tokenizer
from evenpack.invalid_argument import checked_path

_BATCH_BYTES = 16 << 20


def tokenize_jsonl(
    source: str | Path,
    prefix: str | Path,
    tokenizer: Tokenizer | None = None,
    *,
    text_field: str = "text",
    token_type: DTypeLike | None = None,
) -> IndexedDataset:
    """Writes PREFIX.bin and PREFIX.idx with the tokens of the texts, in their order.

    A text without a token becomes a document without one, which `IndexedDataset` and
    evenpackctl leave out. Megatron-Core can train on what is written.

    Args:
        source: a file with one JSON object a line.
        prefix: path of the files without .idx and .bin; they appear when all is
            written.
        tokenizer: None: one token for each byte of UTF-8.
        text_field: the field with the text, which every line must have.
        token_type: in which tokens are stored; None: as Megatron-Core does, uint16 for
            vocabularies below 65,500 and int32 for others.

    Returns:
        The dataset, opened.

    Raises:
        InvalidArgumentError: naming line and field, or a token that the type can't
            hold; nothing is left behind then.
    """
    given = checked_tokenizer(tokenizer)
    fields = Fields(text=text_field)
    file = Path(checked_path("source", source))
    lines = LineIndex(file, "a file with one JSON object a line")
    kind = token_type_for(given.vocabulary) if token_type is None else token_type
    with IndexedDatasetWriter(prefix, kind) as writer:
        first = 0
        while first < len(lines):
            last = min(lines.end_of_block(first, _BATCH_BYTES), first + CHUNK_DOCUMENTS)
            texts = []
            for number in range(first, last):
                place = f"{lines.path}: line {number + 1}"
                document = parse_document(lines.line(number), fields, place)
                texts.append(str(document.content))
            for tokens in given.encode(texts):
                writer.add(tokens)
            first = last
    return IndexedDataset(prefix)

"""Lengths of a JSONL file's texts in tokens, for `evenpackctl ingest --tokenizer`.

    python3 -m evenpack.corpora.jsonl_lengths --tokenizer tiktoken:cl100k_base < FILE

evenpackctl runs this program and sends the server what it says. Standard input is the
file; standard output has a record a line, each a JSON object:

    {"skipped": N}             first: documents that --skip passed over, fewer where the
                               file has no more
    {"length": N, "end": B,    a document: its tokens, where its line ends within the
     "id": N, ...}             file, and id, loss_tokens and source where it has them
    {"documents": N}           last: there were N of those, and no other follows
    {"error": "...",           in place of the last: what is wrong, in words and by
     "code": N}                gRPC's number
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from evenpack.corpora.corpus import MAX_LENGTH
from evenpack.corpora.fields import Fields
from evenpack.corpora.jsonl_document import JsonlDocument, parse_document
from evenpack.corpora.line_stream import Line, LineStream
from evenpack.corpora.tokenizer import HuggingFaceTokenizer, Tokenizer, load_tokenizer
from evenpack.errors import EvenpackError, FailedPreconditionError
from evenpack.invalid_argument import invalid_argument, quoted

_TOKENIZERS = "tokenizers:"
_JSON_OBJECT = "a JSON object"
# Of documents that are tokenized together, at most.
_BATCH = 8192
# Of an error's message.
_MOST_CHARACTERS = 1000
# What the flags of evenpackctl are called by the functions that refuse them.
_FLAGS = {
    "tokenizer": "--tokenizer",
    "end_of_document": "--end-of-document",
    "file": "--jsonl",
}
_Record = dict[str, int | str]


def read_tokenizer(name: str, end_of_document: str | None = None) -> Tokenizer:
    """The tokenizer that evenpackctl's --tokenizer and --end-of-document name.

    Args:
        name: "tokenizers:" and the path of a tokenizer.json, or as `load_tokenizer`
            has it.
        end_of_document: digits are the id of a token, anything else is its name.

    Raises:
        InvalidArgumentError: no such tokenizer or token, or its library is missing.
    """
    end: int | str | None = end_of_document
    if end_of_document is not None and end_of_document.isdecimal():
        end = int(end_of_document)
    if name.startswith(_TOKENIZERS):
        path = name.removeprefix(_TOKENIZERS)
        return HuggingFaceTokenizer(path, end_of_document=end)
    return load_tokenizer(name, end)


def records(
    lines: LineStream, fields: Fields, tokenizer: Tokenizer, skip: int = 0
) -> Iterator[list[_Record]]:
    """What the program says of a file without a mistake, some records at a time.

    Args:
        lines: of the file.
        fields: with a text.
        tokenizer: of the texts.
        skip: documents at the beginning that are passed over and not tokenized.

    Raises:
        InvalidArgumentError: naming line and field; what is before comes first.
    """
    blocks = lines.blocks()
    skipped, rest = _skip(blocks, skip)
    yield [{"skipped": skipped}]
    documents = 0
    for block in chain([rest], blocks):
        for begin in range(0, len(block), _BATCH):
            found, error = _documents(block[begin : begin + _BATCH], fields, tokenizer)
            documents += len(found)
            yield found
            if error is not None:
                raise error
    yield [{"documents": documents}]


def _skip(blocks: Iterator[list[Line]], count: int) -> tuple[int, list[Line]]:
    """How many lines were passed over, and what of their last block is left."""
    skipped = 0
    while skipped < count and (block := next(blocks, None)) is not None:
        passed = block[: count - skipped]
        for line in passed:
            if not line.content:
                raise _refusal(line, "line", quoted(line.content), _JSON_OBJECT)
        skipped += len(passed)
        if len(passed) < len(block):
            return skipped, block[len(passed) :]
    return skipped, []


def _documents(
    lines: Sequence[Line], fields: Fields, tokenizer: Tokenizer
) -> tuple[list[_Record], EvenpackError | None]:
    """The documents before the first bad one, and what is wrong with that."""
    parsed: list[JsonlDocument] = []
    error: EvenpackError | None = None
    try:
        for line in lines:
            parsed.append(parse_document(line.content, fields, _place(line)))
    except EvenpackError as wrong:
        error = wrong
    lengths = tokenizer.count([str(document.content) for document in parsed])
    found: list[_Record] = []
    for line, document, length in zip(lines, parsed, lengths, strict=False):
        wrong_length = _wrong_length(line, fields, document, length)
        if wrong_length is not None:
            return found, wrong_length
        found.append(_record(line, document, length))
    return found, error


def _place(line: Line) -> str:
    return f"line {line.number}"


def _refusal(line: Line, field: str, value: object, accepted: str) -> EvenpackError:
    return invalid_argument(field, value, accepted, _place(line))


def _wrong_length(
    line: Line, fields: Fields, document: JsonlDocument, length: int
) -> EvenpackError | None:
    """As `JsonlCorpus` refuses it."""
    if not 1 <= length <= MAX_LENGTH:
        value = f"one of {length} tokens" if length else "one without a token"
        accepted = f"1 to {MAX_LENGTH} tokens" if length else "at least one"
        return _refusal(line, f"field '{fields.content}'", value, accepted)
    if document.loss_tokens is not None and document.loss_tokens > length:
        field = f"field '{fields.loss_tokens}'"
        accepted = f"0 to {length}, the tokens of the document"
        return _refusal(line, field, document.loss_tokens, accepted)
    return None


def _record(line: Line, document: JsonlDocument, length: int) -> _Record:
    record: _Record = {"length": length, "end": line.end}
    if document.id is not None:
        record["id"] = document.id
    if document.loss_tokens is not None:
        record["loss_tokens"] = document.loss_tokens
    if document.source is not None:
        record["source"] = document.source
    return record


def _flags(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="jsonl_lengths", allow_abbrev=False)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--end-of-document")
    parser.add_argument("--text-field", default="text")
    parser.add_argument("--id-field")
    parser.add_argument("--loss-tokens-field")
    parser.add_argument("--source-field")
    parser.add_argument("--skip", type=int, default=0)
    return parser.parse_args(arguments)


def _records_of(flags: Namespace) -> Iterator[list[_Record]]:
    tokenizer = read_tokenizer(flags.tokenizer, flags.end_of_document)
    fields = Fields(
        text=flags.text_field,
        id=flags.id_field,
        loss_tokens=flags.loss_tokens_field,
        source=flags.source_field,
    )
    lines = LineStream(sys.stdin.fileno(), _JSON_OBJECT)
    return records(lines, fields, tokenizer, flags.skip)


def _error_record(error: Exception) -> _Record:
    """Named after the flags, as whoever called evenpackctl knows them."""
    if not isinstance(error, EvenpackError):  # whatever a library raises
        kind = type(error).__name__
        error = FailedPreconditionError(f"tokenizer: {kind}: {error}")
    field, separator, rest = error.message.partition(": ")
    named = f"{_FLAGS.get(field, field)}{separator}{rest}"
    return {"error": named[:_MOST_CHARACTERS], "code": error.code}


def _write(out: BinaryIO, some: Iterable[_Record]) -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in some)
    out.write(text.encode())
    out.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the records; the program's exit code."""
    flags = _flags(arguments)
    # What libraries print goes to standard error, and not between the records.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            for some in _records_of(flags):
                _write(out, some)
        except BrokenPipeError:
            return 1
        except Exception as error:
            _write(out, [_error_record(error)])
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tokens of texts.

`load_tokenizer` makes one by name: "bytes", "tiktoken:cl100k_base" or the path of a
tokenizer.json; the classes take one that is at hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import MAX_LENGTH
from evenpack.corpora.optional_library import optional_library
from evenpack.invalid_argument import (
    checked_boolean,
    checked_integer,
    checked_path,
    invalid_argument,
    quoted,
)

_TIKTOKEN = "tiktoken:"
# A tokenizers.Tokenizer and a tiktoken.Encoding; neither library is always there.
HuggingFaceSource = Any
TiktokenSource = Any


@runtime_checkable
class Tokenizer(Protocol):
    """Makes tokens of texts, always the same of the same."""

    @property
    def vocabulary(self) -> int:
        """Ids are 0 to this - 1."""
        ...

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        """Token ids of each text."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        ...


class _Tokenizer(ABC):
    """What tokenizers share: a token at the end of each document, if one is wanted."""

    def __init__(self, vocabulary: int, end_of_document: int | None) -> None:
        if end_of_document is not None:
            end_of_document = checked_integer(
                "end_of_document", end_of_document, 0, MAX_LENGTH
            )
        self._end = [] if end_of_document is None else [end_of_document]
        self._vocabulary = max([vocabulary, *(end + 1 for end in self._end)])

    @property
    def vocabulary(self) -> int:
        """Ids are 0 to this - 1."""
        return self._vocabulary

    @abstractmethod
    def _ids(self, texts: Sequence[str]) -> Sequence[Sequence[int] | NDArray[Any]]: ...

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        """Token ids of each text, with the end of the document if one is wanted."""
        end = np.array(self._end, dtype=np.uint32)
        return [
            np.concatenate([np.asarray(ids, dtype=np.uint32), end])
            for ids in self._ids(texts)
        ]

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, with the end of the document."""
        return [len(ids) + len(self._end) for ids in self._ids(texts)]


class ByteTokenizer(_Tokenizer):
    """The bytes of a text in UTF-8 as ids 0 to 255. Threads may share one."""

    def __init__(self, end_of_document: int | None = None) -> None:
        """Adds `end_of_document`, 0 to 2^31 - 1, to each text unless it is None.

        Raises:
            InvalidArgumentError: it is outside.
        """
        super().__init__(256, end_of_document)

    def _ids(self, texts: Sequence[str]) -> list[NDArray[np.uint8]]:
        return [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts]


class HuggingFaceTokenizer(_Tokenizer):
    """A tokenizer of Hugging Face's `tokenizers`. Threads may share one."""

    def __init__(
        self,
        source: HuggingFaceSource,
        *,
        special_tokens: bool = False,
        end_of_document: int | str | None = None,
    ) -> None:
        """Takes a copy of a tokenizer that neither truncates nor pads.

        Args:
            source: path of a tokenizer.json, or a `tokenizers.Tokenizer`.
            special_tokens: with those that the tokenizer puts around a text.
            end_of_document: id or name of a token that is put behind each text.

        Raises:
            InvalidArgumentError: `tokenizers` is not installed, no such file or token.
        """
        library = optional_library("tokenizers", "tokenizers", "tokenizer")
        try:
            if isinstance(source, str | Path):
                self._tokenizer = library.Tokenizer.from_file(str(source))
            else:
                self._tokenizer = library.Tokenizer.from_str(source.to_str())
        except Exception as error:  # the library raises this very class
            accepted = "a tokenizer.json or a tokenizers.Tokenizer"
            raise invalid_argument(
                "tokenizer", f"{source} ({error})", accepted
            ) from error
        # A file may ask for either: documents would be cut or filled without a word.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._special_tokens = checked_boolean("special_tokens", special_tokens)
        end = end_of_document
        if isinstance(end, str):
            end = self._tokenizer.token_to_id(end)
            if end is None:
                raise invalid_argument(
                    "end_of_document", quoted(end_of_document), "a token that there is"
                )
        # Not how many ids there are: some vocabularies leave some out.
        ids = self._tokenizer.get_vocab(with_added_tokens=True).values()
        super().__init__(max(ids, default=-1) + 1, end)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch(
            list(texts), add_special_tokens=self._special_tokens
        )
        return [encoding.ids for encoding in encodings]


class TiktokenTokenizer(_Tokenizer):
    """An encoding of `tiktoken`; special tokens in a text are text.

    Threads may share one.
    """

    def __init__(
        self, source: TiktokenSource, *, end_of_document: int | str | None = None
    ) -> None:
        """Takes an encoding.

        Args:
            source: a `tiktoken.Encoding`, or the name of one, which tiktoken downloads
                where it hasn't it.
            end_of_document: id or name of a token that is put behind each text.

        Raises:
            InvalidArgumentError: `tiktoken` is not installed, no such encoding or
                token.
        """
        library = optional_library("tiktoken", "tiktoken", "tokenizer")
        self._encoding = source
        if isinstance(source, str):
            try:
                self._encoding = library.get_encoding(source)
            except ValueError as error:
                names = ", ".join(library.list_encoding_names())
                raise invalid_argument("tokenizer", quoted(source), names) from error
        elif not isinstance(source, library.Encoding):
            accepted = "a tiktoken.Encoding, or the name of one"
            raise invalid_argument("tokenizer", quoted(source), accepted)
        end = end_of_document
        if isinstance(end, str):
            try:
                end = self._encoding.encode_single_token(end)
            except KeyError as error:
                raise invalid_argument(
                    "end_of_document", quoted(end_of_document), "a token that there is"
                ) from error
        super().__init__(self._encoding.n_vocab, end)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        found: list[list[int]] = self._encoding.encode_ordinary_batch(list(texts))
        return found


def checked_tokenizer(tokenizer: Tokenizer | None) -> Tokenizer:
    """It; one token for each byte where it is None.

    Raises:
        InvalidArgumentError: it is none, as a name is.
    """
    if tokenizer is None:
        return ByteTokenizer()
    if not isinstance(tokenizer, Tokenizer):
        accepted = "a Tokenizer, as load_tokenizer() makes one, or None"
        raise invalid_argument("tokenizer", quoted(tokenizer), accepted)
    return tokenizer


def load_tokenizer(name: str, end_of_document: int | str | None = None) -> Tokenizer:
    """A tokenizer by name.

    Args:
        name: "bytes", "tiktoken:ENCODING" or the path of a tokenizer.json of Hugging
            Face's `tokenizers`.
        end_of_document: id or, but for "bytes", name of a token that is put behind each
            text.

    Raises:
        InvalidArgumentError: no such tokenizer or token, or its library is missing.
    """
    name = checked_path("tokenizer", name)
    if name == "bytes":
        if isinstance(end_of_document, str):
            raise invalid_argument(
                "end_of_document",
                quoted(end_of_document),
                "a number; bytes have no names",
            )
        return ByteTokenizer(end_of_document)
    if name.startswith(_TIKTOKEN):
        encoding = name.removeprefix(_TIKTOKEN)
        return TiktokenTokenizer(encoding, end_of_document=end_of_document)
    if not name.endswith(".json"):
        accepted = "bytes, tiktoken:ENCODING, or the path of a tokenizer.json"
        raise invalid_argument("tokenizer", quoted(name), accepted)
    return HuggingFaceTokenizer(name, end_of_document=end_of_document)

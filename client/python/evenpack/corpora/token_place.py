"""Where a corpus has a document's tokens, for a server that reads them itself."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from evenpack.invalid_argument import invalid_argument


class TokenPlace(NamedTuple):
    """Of a document's tokens, which lie side by side.

    Attributes:
        path: of the file, absolute.
        token_bytes: of a token id, little-endian: 2 (uint16) or 4 (uint32, or int32 of
            which the 32 bits are taken as they are).
        offset: where the first begins, in bytes.
    """

    path: str
    token_bytes: int
    offset: int


@runtime_checkable
class TokenFileCorpus(Protocol):
    """A corpus whose tokens are in files as a server can read them."""

    def token_place(self, document: int) -> TokenPlace:
        """Where the tokens of a document are.

        Raises:
            InvalidArgumentError: no such document; its tokens are not side by side, or
                not of 2 bytes without a sign or of 4.
        """
        ...


def token_place_of(corpus: object, document: int) -> TokenPlace:
    """`corpus.token_place(document)`.

    Raises:
        InvalidArgumentError: as that does; the corpus has no such files.
    """
    if not isinstance(corpus, TokenFileCorpus):
        raise invalid_argument(
            "corpus",
            type(corpus).__name__,
            "an IndexedDataset, or a Shuffle, Blend, Concatenation or Repetition of "
            "some, whose tokens a server can read itself",
        )
    return corpus.token_place(document)

"""Feeds documents into one stream of a server's job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenpack import _native
from evenpack.document_columns import column
from evenpack.invalid_argument import (
    check_class,
    checked_path,
    invalid_argument,
    quoted,
)
from evenpack.sessions_at_exit import end_at_exit


@dataclass(frozen=True)
class TokenFile:
    """Where documents' tokens are in a file that the server reads itself.

    Attributes:
        path: absolute, on the server's machine and within its --payload-root.
        token_bytes: of a token id there, an unsigned little-endian integer: 2 or 4.
        offsets: in bytes, where each document's tokens begin; 0 to 2^64 - 1.
    """

    path: str | Path
    token_bytes: int
    offsets: ArrayLike


class Producer:
    """One stream's documents, in order, each accepted exactly once.

    A lost connection is opened again and goes on where the server is. One thread at a
    time. As a context manager it is cancelled at the end; `flush()` before that.
    """

    def __init__(self, native: _native.Producer) -> None:
        """As `Client.producer` makes it."""
        self._native = native
        end_at_exit(native)

    @property
    def next_sequence(self) -> int:
        """Number of the next document that is added; after a restart go on there."""
        return self._native.next_sequence

    @property
    def accepted_sequence(self) -> int:
        """All documents below are accepted by the server and need not be sent again."""
        return self._native.accepted_sequence

    def add(
        self,
        lengths: ArrayLike,
        ids: ArrayLike | None = None,
        loss_tokens: ArrayLike | None = None,
        sources: ArrayLike | None = None,
        token_ids: ArrayLike | None = None,
        token_file: TokenFile | None = None,
    ) -> None:
        """Adds documents; waits while the job is full.

        Args:
            lengths: tokens of each, 1 to 2^31 - 1.
            ids: labels of any meaning; each document's number where left out.
            loss_tokens: tokens of each that count in the loss; all where left out.
            sources: numbers for where each comes from; 0 where left out.
            token_ids: for a job whose payload travels by value, and for no other: the
                documents' token ids one after another, 0 to 2^32 - 1 each, as many as
                the lengths come to. A document has at most 2^28 tokens then.
            token_file: in place of token_ids, for a server with a --payload-root: it
                reads them when it accepts the documents, and again when it recovers,
                so that the file must not change while a step may need them. Documents
                of another file go in another message.

        Raises:
            InvalidArgumentError: a length that no job can take, or columns of different
                length; nothing of the call is added. From this call or a later one,
                after which the producer takes nothing more: a length above the job's
                max_length, or a file that the server can't read.
            FailedPreconditionError: from this call or a later one: a token_file, and
                the server has no --payload-root.
            UnavailableError: no server for as long as was to be tried.
        """
        self._native.add(
            column("lengths", lengths, np.uint32),
            None if ids is None else column("ids", ids, np.uint64),
            None
            if loss_tokens is None
            else column("loss_tokens", loss_tokens, np.uint32),
            None if sources is None else column("sources", sources, np.uint32),
            None if token_ids is None else column("token_ids", token_ids, np.uint32),
            None if token_file is None else _place(token_file),
        )

    def flush(self) -> None:
        """Waits until all that was added is accepted."""
        self._native.flush()

    def end_of_stream(self) -> None:
        """No document follows; waits until that is accepted. Ends the producer."""
        self._native.end_of_stream()

    def cancel(self) -> None:
        """Ends at once: calls under way and later ones raise CancelledError."""
        self._native.cancel()

    def __enter__(self) -> Producer:
        """The producer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancels it."""
        self.cancel()


def _place(file: TokenFile) -> tuple[str, int, NDArray[np.uint64]]:
    """As the engine takes it, which looks at the path and the offsets' number."""
    check_class("token_file", file, TokenFile, "a TokenFile, or None")
    path = checked_path("token_file.path", file.path)
    try:
        path.encode()
    except UnicodeEncodeError as error:
        accepted = "a path in UTF-8"
        raise invalid_argument("token_file.path", quoted(path), accepted) from error
    if file.token_bytes not in (2, 4):
        raise invalid_argument(
            "token_file.token_bytes", quoted(file.token_bytes), "2 or 4"
        )
    offsets = column("token_file.offsets", file.offsets, np.uint64)
    return path, int(file.token_bytes), offsets

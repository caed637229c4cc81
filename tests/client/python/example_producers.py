"""Producers of the tests: one that records, and one of a job in this process."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from evenpack import TokenFile, _native
from evenpack.errors import UnavailableError
from numpy.typing import NDArray

# (length, id, loss tokens, source) of each, as the server takes them.
Documents = list[tuple[int, int, int, int]]


@dataclass
class Recording:
    """A producer that keeps what it is given, and is cut off after so many documents.

    `calls` has the number of documents of each add, and the names of other calls,
    `tokens` the token ids of each document that came with them, `places` path, bytes of
    a token and offset of each that came with those.
    """

    documents: Documents = field(default_factory=list)
    calls: list[int | str] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)
    places: list[tuple[str, int, int]] = field(default_factory=list)
    accepted_sequence: int = 0
    room: int | None = None
    ended: bool = False

    @property
    def next_sequence(self) -> int:
        """See `DocumentProducer`."""
        return len(self.documents)

    def add(
        self,
        lengths: NDArray[np.uint32],
        ids: NDArray[np.uint64] | None = None,
        loss_tokens: NDArray[np.uint32] | None = None,
        sources: NDArray[np.uint32] | None = None,
        *,
        token_ids: NDArray[np.uint32] | None = None,
        token_file: TokenFile | None = None,
    ) -> None:
        """See `DocumentProducer`."""
        assert not self.ended
        assert lengths.dtype == np.uint32
        size, first = len(lengths), len(self.documents)
        ends = np.cumsum(lengths)
        if token_ids is not None:
            assert token_ids.dtype == np.uint32
            assert len(token_ids) == ends[-1]
        if token_file is not None:
            assert token_ids is None
            assert np.shape(token_file.offsets) == (size,)
        rows = zip(
            lengths.tolist(),
            range(first, first + size) if ids is None else ids.tolist(),
            lengths.tolist() if loss_tokens is None else loss_tokens.tolist(),
            [0] * size if sources is None else sources.tolist(),
            strict=True,
        )
        for i, (row, end) in enumerate(zip(rows, ends, strict=True)):
            if self.room is not None and len(self.documents) >= self.room:
                raise UnavailableError("cut off")
            self.documents.append(row)
            if token_ids is not None:
                self.tokens.append(token_ids[end - row[0] : end].tolist())
            if token_file is not None:
                offset = int(np.asarray(token_file.offsets)[i])
                place = str(token_file.path), token_file.token_bytes, offset
                self.places.append(place)
        self.calls.append(size)

    def flush(self) -> None:
        """See `DocumentProducer`."""
        self.accepted_sequence = len(self.documents)
        self.calls.append("flush")

    def end_of_stream(self) -> None:
        """See `DocumentProducer`."""
        self.ended = True
        self.calls.append("end")


class LocalProducer:
    """A stream of a job in this process."""

    def __init__(self, job: _native.LocalJob, stream: str) -> None:
        """Takes a stream of the job."""
        self._job = job
        self._stream = stream

    @property
    def next_sequence(self) -> int:
        """See `DocumentProducer`."""
        return self._job.next_sequence(self._stream)

    @property
    def accepted_sequence(self) -> int:
        """See `DocumentProducer`."""
        return self.next_sequence

    def add(
        self,
        lengths: NDArray[np.uint32],
        ids: NDArray[np.uint64] | None = None,
        loss_tokens: NDArray[np.uint32] | None = None,
        sources: NDArray[np.uint32] | None = None,
        *,
        token_ids: NDArray[np.uint32] | None = None,
        token_file: TokenFile | None = None,
    ) -> None:
        """See `DocumentProducer`; a job in this process takes no tokens."""
        assert token_ids is None
        assert token_file is None
        first = self.next_sequence
        self._job.add(self._stream, first, lengths, ids, loss_tokens, sources)

    def flush(self) -> None:
        """Everything is accepted as it is added."""

    def end_of_stream(self) -> None:
        """See `DocumentProducer`."""
        self._job.end_of_stream(self._stream)

"""The tokens of a micro-batch, for trainers that have the corpora themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenpack import _native
from evenpack.corpora.corpus import TokenCorpus, Tokens
from evenpack.errors import DataLossError
from evenpack.invalid_argument import (
    check_class,
    checked_uint32,
    invalid_argument,
    quoted,
)

# By the index of their stream in the job's spec.
Corpora = Sequence[TokenCorpus] | Mapping[int, TokenCorpus]
# Document of the micro-batch, first token within it and the one behind the last.
_Piece = tuple[int, int, int]

_INTEGERS = "a type of integers"


def gather(
    micro_batch: _native.MicroBatch,
    corpora: Corpora,
    *,
    cp_rank: int | None = None,
    dtype: DTypeLike = np.int64,
) -> NDArray[Any]:
    """The token ids of a micro-batch without padding, documents in their order.

    Of a document that was cut, the piece that the micro-batch has. Nothing but the
    tokens that are returned is read. Thread contract: that of the corpora.

    Args:
        micro_batch: of a step.
        corpora: what each stream was fed from, by the stream's index in the job.
        cp_rank: only the tokens of this context-parallel rank, in its local order:
            entry i is token `slices(cp_rank).token_indices[i]` of the whole.
        dtype: of the result, integers.

    Returns:
        [tokens], or [slices(cp_rank).tokens].

    Raises:
        InvalidArgumentError: no MicroBatch, no corpus for a stream, no such rank, or a
            corpus that hasn't the document or not so many tokens of it: it is not the
            one that was ingested; no type of integers, or one that has no room for a
            token.
        DataLossError: a corpus gave another number of tokens than it was asked for.
    """
    check_class("micro_batch", micro_batch, _native.MicroBatch, "a MicroBatch")
    if not isinstance(corpora, Sequence | Mapping):
        accepted = "a list of corpora, or a mapping, by the job's order of streams"
        raise invalid_argument("corpora", type(corpora).__name__, accepted)
    pieces = list(_pieces(micro_batch, cp_rank))
    size = sum(end - begin for _, begin, end in pieces)
    tokens = np.empty(size, dtype=_integers(dtype))
    streams = micro_batch.stream.tolist()
    sequences = micro_batch.sequence.tolist()
    offsets = micro_batch.offset.tolist()
    at = 0
    for document, begin, end in pieces:
        stream, sequence = streams[document], sequences[document]
        offset = offsets[document]
        found = _corpus(corpora, stream).tokens(sequence, offset + begin, offset + end)
        if len(found) != end - begin:
            raise DataLossError(
                f"stream {stream}, document {sequence}: the corpus gave {len(found)} "
                f"tokens from {offset + begin} on; it was asked for {end - begin}"
            )
        _check_type(found, tokens.dtype)
        tokens[at : at + len(found)] = found
        at += len(found)
    return tokens


def _pieces(micro_batch: _native.MicroBatch, cp_rank: int | None) -> Iterator[_Piece]:
    if cp_rank is None:
        for document, length in enumerate(micro_batch.length.tolist()):
            yield document, 0, length
        return
    slices = micro_batch.slices(checked_uint32("cp_rank", cp_rank))
    yield from zip(
        slices.document.tolist(),
        slices.begin.tolist(),
        slices.end.tolist(),
        strict=True,
    )


def _integers(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        wanted = np.dtype(dtype)
    except TypeError as error:
        raise invalid_argument("dtype", quoted(dtype), _INTEGERS) from error
    if wanted.kind not in "iu":
        raise invalid_argument("dtype", wanted.name, _INTEGERS)
    return wanted


def _check_type(tokens: Tokens, dtype: np.dtype[Any]) -> None:
    if np.can_cast(tokens.dtype, dtype) or len(tokens) == 0:
        return
    limits = np.iinfo(dtype)
    for token in (int(tokens.min()), int(tokens.max())):
        if not limits.min <= token <= limits.max:
            accepted = f"{_INTEGERS} that has {token}, which is a token"
            raise invalid_argument("dtype", dtype.name, accepted)


def _corpus(corpora: Corpora, stream: int) -> TokenCorpus:
    try:
        corpus = corpora[stream]
    except (IndexError, KeyError) as error:
        accepted = f"{len(corpora)} corpora with one for each stream of the job"
        raise invalid_argument(
            "corpora", f"none for stream {stream}", accepted
        ) from error
    if not hasattr(corpus, "tokens"):
        accepted = "one that has tokens, not lengths alone"
        raise invalid_argument(f"corpora[{stream}]", type(corpus).__name__, accepted)
    return corpus

"""Which token each position of a micro-batch is to predict.

A token *counts* if its prediction, by the token before it in its document, is part of
the loss. Nothing predicts the first token of a document, or of a piece of one: the
token before it is not in the micro-batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.invalid_argument import as_array, checked_integer, invalid_argument

# PyTorch's cross_entropy leaves out targets of this value.
IGNORED_LABEL = -100

Integers = NDArray[np.integer]


def _as_int64(field: str, values: Integers) -> NDArray[np.int64]:
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise invalid_argument(f"{field}.dtype", values.dtype, "an integer type")
    return values.astype(np.int64)


def checked_tokens(micro_batch: MicroBatch, tokens: Integers) -> NDArray[np.int64]:
    """The token ids as int64.

    Args:
        micro_batch: whose tokens they are.
        tokens: of any integer type, [micro_batch.tokens]: those of its documents (or
            pieces) one after another, without padding; an array, or a list or tensor
            that numpy makes one of.

    Raises:
        InvalidArgumentError: another shape, or no integers.
    """
    tokens = as_array("tokens", tokens, "one row of integers")
    if tokens.shape != (micro_batch.tokens,):
        accepted = f"({micro_batch.tokens},), the micro-batch's tokens"
        raise invalid_argument("tokens.shape", tokens.shape, accepted)
    return _as_int64("tokens", tokens)


def checked_pad_token(pad_token: int) -> int:
    """The token id of padding; InvalidArgumentError: no integer of 64 bits."""
    return checked_integer("pad_token", pad_token, -(1 << 63), (1 << 63) - 1)


def _counted_by_document(micro_batch: MicroBatch) -> NDArray[np.bool_]:
    """All tokens of a document, or none: a count in between doesn't say which."""
    lengths = micro_batch.length.astype(np.int64)
    loss_tokens = micro_batch.document_loss_tokens
    # One less than the length is all as well: producers may leave out the first token.
    unclear = np.flatnonzero((loss_tokens > 0) & (lengths - loss_tokens > 1))
    if unclear.size:
        at = int(unclear[0])
        raise invalid_argument(
            "counted",
            None,
            f"one entry a token, since {loss_tokens[at]} of {lengths[at]} tokens of "
            f"document {at} count in the loss",
        )
    return np.repeat(loss_tokens > 0, lengths)


def predicted_tokens(
    micro_batch: MicroBatch, counted: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Whether each token counts in the loss: bool, [micro_batch.tokens].

    False for the first token of each document (or piece), which nothing predicts.

    Args:
        micro_batch: of any layout.
        counted: bool, [micro_batch.tokens]: which tokens count. None: all those of
            documents with document_loss_tokens, of which there is but a number.
            Producers that train on a part of a document, such as its answers, must give
            this.

    Raises:
        InvalidArgumentError: of another shape or type, or None where it is needed.
    """
    if counted is None:
        predicted = _counted_by_document(micro_batch)
    else:
        predicted = _checked_counted(micro_batch, counted)
    predicted[micro_batch.cu_seqlens[:-1]] = False
    return predicted


def _checked_counted(
    micro_batch: MicroBatch, counted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """A copy of what was given."""
    counted = as_array("counted", counted, "one row of booleans")
    if counted.shape != (micro_batch.tokens,):
        accepted = f"({micro_batch.tokens},), the micro-batch's tokens"
        raise invalid_argument("counted.shape", counted.shape, accepted)
    if counted.size and counted.dtype != np.bool_:
        raise invalid_argument("counted.dtype", counted.dtype, "bool")
    return counted.astype(np.bool_)


def next_token_labels(
    micro_batch: MicroBatch,
    tokens: NDArray[np.int64],
    counted: NDArray[np.bool_] | None,
    following: Integers | None,
) -> NDArray[np.int64]:
    """For each token the one after it in its document: int64, [micro_batch.tokens].

    IGNORED_LABEL where that one doesn't count in the loss, and for the last token of a
    document (or piece) unless `following` has the one after it.

    Args:
        micro_batch: of any layout.
        tokens: as `checked_tokens` returns them.
        counted: as for `predicted_tokens`.
        following: of any integer type, [micro_batch.documents]: the token after the
            last one of each document or piece, which then counts in the loss (but not
            where `counted` is None and the document has no document_loss_tokens); -1
            where there is none, or it shall not count. None: all -1. Of a document that
            was split, the first token of each later piece is predicted only if it is
            given here for the piece before. A first piece of one token has no
            document_loss_tokens if its producer counted one less than the length, so
            it predicts only with `counted`.

    Raises:
        InvalidArgumentError: `counted` or `following` has another shape or type.
    """
    predicted = predicted_tokens(micro_batch, counted)
    labels = np.full(tokens.shape, IGNORED_LABEL, np.int64)
    labels[:-1] = np.where(predicted[1:], tokens[1:], IGNORED_LABEL)
    if following is None:
        return labels
    following = as_array("following", following, "one row of integers")
    if following.shape != (micro_batch.documents,):
        accepted = f"({micro_batch.documents},), the micro-batch's documents"
        raise invalid_argument("following.shape", following.shape, accepted)
    after = _as_int64("following", following)
    known = after >= 0
    if counted is None:
        known &= micro_batch.document_loss_tokens > 0
    labels[micro_batch.cu_seqlens[1:][known] - 1] = after[known]
    return labels

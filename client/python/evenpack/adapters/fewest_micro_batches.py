"""How many micro-batches samples need at least, whichever way they are packed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fewest_micro_batches(
    lengths: NDArray[np.uint32], max_tokens: int, max_samples: int | None
) -> int:
    """A number that no packing has fewer of; one that has so many need not exist.

    The greatest of four bounds, each true for every packing: by tokens; by samples; by
    the samples that are so long that few of them fit together; and, for bounds on what
    counts as short, by the long ones with what they leave no room for (Martello and
    Toth's L2 of bin packing).

    Args:
        lengths: tokens of each, 1 to max_tokens.
        max_tokens: of a micro-batch.
        max_samples: of a micro-batch; None: any number.

    Returns:
        0 where there is no sample.
    """
    if lengths.size == 0:
        return 0
    longest_first = -np.sort(-lengths.astype(np.int64))
    by_tokens = -(-int(longest_first.sum()) // max_tokens)
    by_samples = -(-lengths.size // (max_samples or lengths.size))
    # Of the first i, no more than fit of the i-th are in one micro-batch.
    first = np.arange(1, lengths.size + 1)
    by_length = int((-(-first // (max_tokens // longest_first))).max())
    return max(
        by_tokens, by_samples, by_length, _beside_long_ones(longest_first, max_tokens)
    )


def _beside_long_ones(longest_first: NDArray[np.int64], max_tokens: int) -> int:
    """For each length up to half a micro-batch, as the bound of what counts as short.

    Samples that leave less room than that are alone; the other ones above a half have
    one each, too, and what the rest, of at least that length, has beyond their room
    needs more.
    """
    halves = int(np.searchsorted(-longest_first, -(max_tokens // 2), side="left"))
    bounds = np.unique(longest_first[halves:])
    if bounds.size == 0:
        return halves
    tokens = np.concatenate([[0], longest_first.cumsum()])
    alone = np.searchsorted(-longest_first, bounds - max_tokens, side="left")
    behind = np.searchsorted(-longest_first, -bounds, side="right")
    room = (halves - alone) * max_tokens - (tokens[halves] - tokens[alone])
    short = tokens[behind] - tokens[halves]
    more = np.maximum(-(-(short - room) // max_tokens), 0)
    return halves + int(more.max())

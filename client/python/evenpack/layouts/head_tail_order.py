"""Which tokens a context-parallel rank has where documents are cut head and tail.

Each run of the sequence (a document with its padding) is cut in 2 * CP chunks, and rank
r has chunks r and 2 * CP - 1 - r of it. TransformerEngine and PyTorch both want a
rank's tokens run by run, the two chunks of each together. (Evenpack's own local order
is another: all front slices, then all back slices.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenpack.layouts.next_token_labels import Integers


def head_tail_part(
    starts: Integers, context_parallel: int, cp_rank: int
) -> NDArray[np.int64]:
    """Indices into the sequence of a rank's tokens: int64, [starts[-1] / CP].

    Args:
        starts: [runs + 1], the first token of each run, then the number of tokens.
            Multiples of 2 * CP, any where CP is 1.
        context_parallel: CP, at least 1.
        cp_rank: 0 to CP - 1.
    """
    bounds = starts.astype(np.int64)
    if context_parallel == 1:
        return np.arange(bounds[-1])
    own = np.diff(bounds) // context_parallel
    chunk = np.repeat(own // 2, own)
    indices: NDArray[np.int64] = np.arange(bounds[-1] // context_parallel)
    within = indices - np.repeat(bounds[:-1] // context_parallel, own)
    # Its second chunk is the rank's tail chunk, so one is counted already.
    skipped = np.where(within < chunk, cp_rank, 2 * context_parallel - 2 - cp_rank)
    indices[:] = np.repeat(bounds[:-1], own) + within + skipped * chunk
    return indices

"""axolotl's multipack sampler, first fit in groups of documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from axolotl.utils.samplers.multipack import MultipackBatchSampler
from packer import MicroBatch, Packer, Shape

# axolotl's default of sample_packing_bin_size: most documents of a micro-batch.
MOST_DOCUMENTS = 200


def first_fit(lengths: Sequence[int], shape: Shape) -> list[MicroBatch]:
    """Bins of `window` tokens in the order in which they were opened."""
    sampler = MultipackBatchSampler(
        range(len(lengths)),
        batch_size=shape.micro_batches,
        batch_max_len=shape.window,
        lengths=np.array(lengths),
        bin_size=MOST_DOCUMENTS,
        drop_last=False,
        num_processes=1,
    )
    return [
        [int(document) for document in micro_batch]
        for step in sampler.generate_batches()
        for micro_batch in step
    ]


def packers() -> list[Packer]:
    """With axolotl's defaults."""
    return [
        Packer(
            "axolotl, multipack",
            "bins of the window",
            first_fit,
            "the whole stream in one group, in its order; at most 200 documents a bin",
            whole_stream=True,
        )
    ]

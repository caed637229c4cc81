"""TRL's packing of a data set, best fit decreasing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import datasets
import numpy as np
import pyarrow as pa
from packer import MicroBatch, Packer, Shape
from trl.data_utils import pack_dataset


def documents_of(lengths: Sequence[int]) -> datasets.Dataset:
    """A data set whose tokens are all their document's position."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    column = pa.LargeListArray.from_arrays(offsets, pa.array(tokens))
    return datasets.Dataset(pa.table({"input_ids": column}))


def best_fit(documents: datasets.Dataset, shape: Shape) -> datasets.Dataset:
    """Rows of `window` tokens."""
    return pack_dataset(documents, shape.window, strategy="bfd")


def micro_batches_of(packed: datasets.Dataset) -> list[MicroBatch]:
    """The documents of each row, in an order such as a trainer's sampler draws."""
    table = packed.with_format("arrow")[:]
    tokens = table["input_ids"].combine_chunks()
    micro_batches = []
    for row, sizes in enumerate(table["seq_lengths"].to_pylist()):
        starts = itertools.accumulate(sizes[:-1], initial=0)
        micro_batches.append([tokens[row].values[start].as_py() for start in starts])
    random.Random(0).shuffle(micro_batches)
    return micro_batches


def packers() -> list[Packer]:
    """`bfd` alone: `bfd_split` is the same where no document exceeds the window."""
    return [
        Packer(
            "TRL, bfd",
            "rows of the window",
            best_fit,
            "1,000 documents at a time, rows shuffled; moves the tokens too",
            whole_stream=True,
            prepare=documents_of,
            read=micro_batches_of,
        )
    ]

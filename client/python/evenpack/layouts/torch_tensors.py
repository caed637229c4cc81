"""Batches as tensors, where PyTorch is installed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def torch_tensors(batch: DataclassInstance | Mapping[str, object]) -> dict[str, Any]:
    """The batch's fields by name, arrays as tensors on the CPU that share their memory.

    Args:
        batch: one of this package's batches, or a mapping such as
            `MegatronThdBatch.packed_seq_params` returns. What is no array is left as it
            is.

    Raises:
        ImportError: PyTorch is not installed.
    """
    import torch

    if isinstance(batch, Mapping):
        fields = dict(batch)
    else:
        names = [field.name for field in dataclasses.fields(batch)]
        fields = {name: getattr(batch, name) for name in names}
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }

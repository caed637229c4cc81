"""What attention computes, and on which tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from evenpack.attention_workers.native_worker import _worker
from evenpack.attention_workers.plain_tensor import check_plain
from evenpack.errors import UnimplementedError
from evenpack.invalid_argument import (
    checked_uint32,
    invalid_argument,
)

_TYPES = {
    torch.float32: "float32",
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
}


@dataclass(frozen=True)
class AttentionForm:
    """Causal attention with grouped queries, apart from lengths.

    Attributes:
        dtype: torch.float32, bfloat16 or float16; sums are float32's.
        query_heads: of a rank, 1 to 1,024; a multiple of kv_heads.
        kv_heads: query head h attends to KV head h / (query_heads / kv_heads).
        head_size: 64, 128, 192 or 256.
        scale: what scores are multiplied by; 0: 1 / sqrt(head_size).
        sliding_window: a query sees itself and as many tokens before it as make this
            number; 0: all.
    """

    dtype: torch.dtype
    query_heads: int
    kv_heads: int
    head_size: int
    scale: float = 0.0
    sliding_window: int = 0

    @classmethod
    def of(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        sliding_window: int,
    ) -> AttentionForm:
        """Of tensors, of which each is [rows, heads, head_size].

        Raises:
            InvalidArgumentError: they don't fit each other, or are none that
                check_plain() accepts.
            UnimplementedError: they are on a kind of device that there is no engine
                for.
        """
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            _check(name, tensor, query)
        if key.shape != value.shape:
            raise invalid_argument("value", f"{[*value.shape]}", f"{[*key.shape]}")
        _, query_heads, head_size = query.shape
        return cls(
            query.dtype, query_heads, key.shape[1], head_size, scale, sliding_window
        )

    def explicit(self) -> AttentionForm:
        """With its scale as a number of float32: equal where the same is computed."""
        scale = self.scale or 1 / math.sqrt(self.head_size)
        return replace(self, scale=float(np.float32(scale)))

    def native(self) -> _worker.Shape:
        """For the native module. InvalidArgumentError: a number out of its range."""
        return _worker.Shape(
            dtype=_TYPES.get(self.dtype, str(self.dtype)),
            query_heads=checked_uint32("query_heads", self.query_heads),
            kv_heads=checked_uint32("kv_heads", self.kv_heads),
            head_size=checked_uint32("head_size", self.head_size),
            scale=float(self.scale),
            sliding_window=checked_uint32("sliding_window", self.sliding_window),
        )


def _check(name: str, tensor: Tensor, query: Tensor) -> None:
    check_plain(name, tensor)
    if tensor.ndim != 3:
        raise invalid_argument(
            name, f"{[*tensor.shape]}", "three dimensions: [rows, heads, head_size]"
        )
    if tensor.device.type not in ("cpu", "cuda"):
        raise UnimplementedError(
            f"{name}: a tensor on {tensor.device} is not accepted; accepted: on the "
            "processor, or on a CUDA device"
        )
    if tensor.device != query.device:
        raise invalid_argument(
            name, f"on {tensor.device}", f"on {query.device}, as query is"
        )
    if tensor.dtype != query.dtype:
        raise invalid_argument(name, str(tensor.dtype), f"{query.dtype}, as query has")
    rows = tensor.shape[0]
    if rows != query.shape[0] or tensor.shape[2] != query.shape[2]:
        raise invalid_argument(
            name,
            f"{[*tensor.shape]}",
            f"rows and head size of query, {[*query.shape]}",
        )

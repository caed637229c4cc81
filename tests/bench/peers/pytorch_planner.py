"""PyTorch's load balancers of context parallelism."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from cp_plans import Planner
from torch.distributed.tensor.experimental._context_parallel import _load_balancer
from torch.nn.attention.flex_attention import BlockMask

BLOCK = 128


def whole(lengths: Sequence[int], ranks: int) -> torch.Tensor:
    """Head and tail of the sequence."""
    return _load_balancer._HeadTailLoadBalancer(
        sum(lengths), ranks, "cpu"
    )._generate_indices()


def per_document(lengths: Sequence[int], ranks: int) -> torch.Tensor:
    """Head and tail of every document."""
    return _load_balancer._PerDocumentHeadTailLoadBalancer(
        [list(lengths)], ranks, "cpu"
    )._generate_indices()


def block_mask(lengths: Sequence[int]) -> BlockMask:
    """Which blocks of keys each block of queries attends to, for causal documents."""
    starts = [
        start
        for start, length in zip(
            torch.tensor([0, *lengths]).cumsum(0).tolist(), lengths, strict=False
        )
        for _ in range(length)
    ]
    blocks = len(starts) // BLOCK
    first = torch.tensor(starts[::BLOCK]) // BLOCK
    count = torch.arange(blocks) - first + 1
    columns = (first[:, None] + torch.arange(blocks)[None, :]) % blocks
    return BlockMask.from_kv_blocks(
        count.to(torch.int32)[None, None],
        columns.to(torch.int32)[None, None],
        BLOCK_SIZE=BLOCK,
    )


def round_robin(mask: BlockMask, ranks: int) -> torch.Tensor:
    """Blocks of queries by how many blocks of keys they attend to."""
    return _load_balancer._PTRRLoadBalancer(mask, ranks)._generate_indices()


def in_order(indices: torch.Tensor) -> list[int]:
    """The order of the one sequence."""
    order: list[int] = indices.flatten().tolist()
    return order


def planners() -> list[Planner]:
    """All that PyTorch has."""
    return [
        Planner("PyTorch, head and tail", list, whole, in_order),
        Planner("PyTorch, per document", list, per_document, in_order),
        Planner(
            "PyTorch, PTRR",
            block_mask,
            round_robin,
            in_order,
            "blocks of 128 queries; the mask's making isn't timed",
        ),
    ]

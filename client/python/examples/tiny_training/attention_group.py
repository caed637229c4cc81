"""How a rank computes attention with the others of its CP group."""

from __future__ import annotations

from dataclasses import dataclass

import evenpack
import torch
import torch.distributed as dist
from evenpack import Client, MicroBatch, PackedDataset
from evenpack.attention_workers import (
    AttentionForm,
    AttentionWorker,
    InProcessWorker,
    SidecarWorker,
)
from evenpack.sharded_attention import Backend
from torch import Tensor

from tiny_training.launch import Launch
from tiny_training.sizes import CONTEXT_PARALLEL, HEAD_SIZE

# For the tensors of a micro-batch, all layers.
ARENA_BYTES = 256 << 20


@dataclass(frozen=True)
class AttentionGroup:
    """A rank's worker, connected to those of the other ranks.

    Attributes:
        worker: begins each step, and has it done again where a peer was lost.
        backend: where it computes: "inprocess" or "sidecar".
    """

    worker: AttentionWorker
    backend: Backend

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, micro_batch: MicroBatch
    ) -> Tensor:
        """What the rank's queries see of their documents, over all ranks' keys."""
        return evenpack.attention(
            query, key, value, micro_batch, backend=self.backend, worker=self.worker
        )


def _peers(launch: Launch, dp_rank: int) -> dist.ProcessGroup:
    """The CP ranks of a DP rank; every rank makes the groups of all."""
    groups = [
        dist.new_group(list(range(first, first + CONTEXT_PARALLEL)))
        for first in range(0, launch.ranks, CONTEXT_PARALLEL)
    ]
    own = groups[dp_rank]
    assert isinstance(own, dist.ProcessGroup)
    return own


def _sidecar(launch: Launch, rank: int, dataset: PackedDataset) -> SidecarWorker:
    """The rank's end of its sidecar, which follows the same steps."""
    size, position = launch.shape, dataset.state_dict()
    dp_rank, cp_rank = divmod(rank, CONTEXT_PARALLEL)
    return SidecarWorker(
        launch.socket_folder(rank),
        job=launch.job,
        dp_rank=dp_rank,
        cp_rank=cp_rank,
        form=AttentionForm(torch.float32, size.query_heads, size.kv_heads, HEAD_SIZE),
        from_step=position["next_step"] or 0,
        last_digest=position["digest"],
        arena_bytes=ARENA_BYTES,
    )


def join_group(launch: Launch, rank: int, dataset: PackedDataset) -> AttentionGroup:
    """Connects a rank to its group, through the server where there is one.

    Args:
        launch: which the rank is of.
        rank: of torch.distributed.
        dataset: at the step that comes first.
    """
    dp_rank, cp_rank = divmod(rank, CONTEXT_PARALLEL)
    if launch.address is None:
        peers = _peers(launch, dp_rank)
        return AttentionGroup(InProcessWorker.over(peers), "inprocess")
    if launch.backend == "sidecar":
        return AttentionGroup(_sidecar(launch, rank, dataset), "sidecar")
    worker = InProcessWorker.join(
        Client(launch.address),
        job=launch.job,
        dp_rank=dp_rank,
        cp_rank=cp_rank,
        cp_size=CONTEXT_PARALLEL,
    )
    return AttentionGroup(worker, "inprocess")

"""The trainer's side of Evenpack.

Balanced micro-batches from a packing server, or from the same engine in the trainer's
own process.

`PackedDataset` gives a rank's steps; `Client` makes and feeds jobs; `attention`
executes what a micro-batch's plan says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenpack._native import MicroBatch, Slices, Step
from evenpack.client import Client
from evenpack.compare_digests import compare_digests
from evenpack.dataset import PackedDataset
from evenpack.document_columns import Documents
from evenpack.errors import EvenpackError
from evenpack.producer import Producer, TokenFile
from evenpack.security import Security
from evenpack.server_steps import ServerOptions
from evenpack.spec import job_spec
from evenpack.steps import StepWait
from evenpack.transport import TransportOptions

if TYPE_CHECKING:
    from evenpack.sharded_attention import attention as attention


def __getattr__(name: str) -> object:
    """`attention`, which imports PyTorch, when it is asked for."""
    if name == "attention":
        from evenpack.sharded_attention import attention

        return attention
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Without `attention`: a star import would take it, and with it PyTorch.
__all__ = [
    "Client",
    "Documents",
    "EvenpackError",
    "MicroBatch",
    "PackedDataset",
    "Producer",
    "Security",
    "ServerOptions",
    "Slices",
    "Step",
    "StepWait",
    "TokenFile",
    "TransportOptions",
    "compare_digests",
    "job_spec",
]

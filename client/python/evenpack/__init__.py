"""The trainer's side of Evenpack.

Balanced micro-batches from a packing server, or from the same engine in the trainer's
own process.

`PackedDataset` gives a rank's steps; `Client` makes and feeds jobs; `attention`
executes what a micro-batch's plan says.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from evenpack._native import MicroBatch, Slices, Step
from evenpack.client import Client
from evenpack.compare_digests import compare_digests
from evenpack.document_columns import Documents
from evenpack.errors import EvenpackError
from evenpack.producer import Producer, TokenFile
from evenpack.security import Security
from evenpack.server_steps import ServerOptions
from evenpack.spec import job_spec
from evenpack.steps import StepWait
from evenpack.transport import TransportOptions

if TYPE_CHECKING:
    from evenpack.dataset import PackedDataset
    from evenpack.sharded_attention import attention as attention

# What imports PyTorch: who feeds a job or counts lengths needn't wait for that.
_IMPORTED_WHEN_ASKED_FOR = {
    "PackedDataset": "evenpack.dataset",
    "attention": "evenpack.sharded_attention",
}


def __getattr__(name: str) -> object:
    """`PackedDataset` and `attention`, imported when they are asked for."""
    module = _IMPORTED_WHEN_ASKED_FOR.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


# Without `attention`, which can't be had where there is no PyTorch.
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

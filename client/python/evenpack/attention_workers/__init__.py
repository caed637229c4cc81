"""Who executes the attention of a context-parallel group: `evenpack.attention` over it.

Of PyTorch, and of the module that a build without OpenBLAS and Gloo doesn't have.
"""

from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.in_process import InProcessOptions, InProcessWorker
from evenpack.attention_workers.sidecar import SidecarWorker
from evenpack.attention_workers.worker import Attempt, AttentionWorker

__all__ = [
    "Attempt",
    "AttentionForm",
    "AttentionWorker",
    "InProcessOptions",
    "InProcessWorker",
    "SidecarWorker",
]

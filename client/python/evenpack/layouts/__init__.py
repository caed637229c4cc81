"""What trainers and their attention kernels take, made from a micro-batch.

Each function takes a `MicroBatch` and the token ids of its documents, one after
another, and returns NumPy arrays with the names, types and shapes that its consumer has
for them; `torch_tensors` makes tensors of them without a copy.
"""

from evenpack.layouts.hf_flat import HfFlatBatch, hf_flat_batch
from evenpack.layouts.megatron_thd import (
    MegatronThdBatch,
    PackedSeqParamsArguments,
    megatron_thd_batch,
)
from evenpack.layouts.native import NativeBatch, native_batch
from evenpack.layouts.next_token_labels import IGNORED_LABEL
from evenpack.layouts.padded_sequence import TokenColumns, padded_sequence
from evenpack.layouts.pytorch_cp import PytorchCpBatch, pytorch_cp_batch
from evenpack.layouts.ring_llama3 import RingLlama3Batch, ring_llama3_batch
from evenpack.layouts.segment_ids import SegmentIdBatch, segment_id_batch
from evenpack.layouts.te_thd import te_thd_indices
from evenpack.layouts.torch_tensors import torch_tensors

__all__ = [
    "IGNORED_LABEL",
    "HfFlatBatch",
    "MegatronThdBatch",
    "NativeBatch",
    "PackedSeqParamsArguments",
    "PytorchCpBatch",
    "RingLlama3Batch",
    "SegmentIdBatch",
    "TokenColumns",
    "hf_flat_batch",
    "megatron_thd_batch",
    "native_batch",
    "padded_sequence",
    "pytorch_cp_batch",
    "ring_llama3_batch",
    "segment_id_batch",
    "te_thd_indices",
    "torch_tensors",
]

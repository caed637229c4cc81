"""Tests of batches as tensors."""

from __future__ import annotations

import numpy as np
import pytest
import random_steps
from evenpack.layouts.megatron_thd import megatron_thd_batch
from evenpack.layouts.torch_tensors import torch_tensors

pytestmark = pytest.mark.filterwarnings("ignore")


def test_tensors_share_the_memory_of_the_arrays() -> None:
    torch = pytest.importorskip("torch")
    micro_batch = random_steps.of_documents([5], layout="megatron_thd", context=2)
    batch = megatron_thd_batch(micro_batch, np.arange(5))
    tensors = torch_tensors(batch)
    assert tensors["tokens"].dtype == torch.int64
    assert tensors["loss_mask"].dtype == torch.float32
    assert tensors["cu_seqlens"].dtype == torch.int32
    assert tensors["max_seqlen"] == 8
    tensors["tokens"][1] = 77
    assert batch.tokens[1] == 77


def test_a_mappings_other_values_are_left_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    tensors = torch_tensors({"format": "thd", "starts": np.array([0, 3])})
    assert tensors["format"] == "thd"
    assert torch.equal(tensors["starts"], torch.tensor([0, 3]))

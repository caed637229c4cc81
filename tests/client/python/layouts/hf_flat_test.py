"""Tests of what Hugging Face's models take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack._native import MicroBatch
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.hf_flat import HfFlatBatch, hf_flat_batch
from evenpack.layouts.next_token_labels import next_token_labels
from evenpack.layouts.torch_tensors import torch_tensors


def _batch(micro_batch: MicroBatch) -> HfFlatBatch:
    return hf_flat_batch(micro_batch, random_steps.token_ids(micro_batch))


@pytest.mark.parametrize(
    ("layout", "context", "variant"), random_steps.any_job(contexts=(1,))
)
def test_a_batch_is_one_flat_sequence(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        if micro_batch.documents == 0:
            continue
        batch = _batch(micro_batch)
        shape = (1, micro_batch.padded_tokens)
        assert batch.input_ids.shape == batch.labels.shape == shape
        assert batch.position_ids.shape == shape
        restarts = np.flatnonzero(batch.position_ids[0] == 0)
        assert restarts.tolist() == batch.cu_seq_lens_q[:-1].tolist()
        assert batch.cu_seq_lens_q[-1] == micro_batch.padded_tokens
        assert batch.cu_seq_lens_q.dtype == batch.cu_seq_lens_k.dtype == np.int32
        assert batch.cu_seq_lens_k.tolist() == batch.cu_seq_lens_q.tolist()
        longest = np.diff(batch.cu_seq_lens_q).max()
        assert batch.max_length_q == batch.max_length_k == longest
        assert (batch.labels[0][restarts] == -100).all()
        known = batch.labels[0] != -100
        assert (batch.labels[0][known] == batch.input_ids[0][known]).all()
        assert known.sum() == micro_batch.tokens - micro_batch.documents


def test_models_that_move_labels_by_one_predict_the_next_token() -> None:
    micro_batch = random_steps.of_documents([4, 3])
    counted = np.array([True, True, False, True, True, False, True])
    ids = random_steps.token_ids(micro_batch)
    moved = hf_flat_batch(micro_batch, ids, counted=counted).labels[0][1:]
    labels = next_token_labels(micro_batch, ids, counted, None)
    assert moved.tolist() == labels[:-1].tolist()


def test_a_micro_batch_that_ranks_share_is_refused() -> None:
    with pytest.raises(InvalidArgumentError) as error:
        _batch(random_steps.of_documents([4], context=2))
    assert str(error.value) == "context_parallel: 2 is not accepted; accepted: 1"


@pytest.mark.filterwarnings("ignore")
def test_a_batch_is_what_transformers_collates() -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    collator = transformers.DataCollatorWithFlattening(return_flash_attn_kwargs=True)
    for micro_batch in random_steps.micro_batches("hf_flat", 1, random_steps.SPLIT):
        if micro_batch.documents == 0:
            continue
        ids = random_steps.token_ids(micro_batch)
        pieces = np.split(ids, micro_batch.cu_seqlens[1:-1])
        expected = collator([{"input_ids": piece.tolist()} for piece in pieces])
        given = torch_tensors(_batch(micro_batch))
        assert set(given) == set(expected)
        for name, value in expected.items():
            if isinstance(value, int):
                assert given[name] == value
                continue
            assert given[name].dtype == value.dtype
            assert given[name].shape == value.shape or name.startswith("cu_seq_lens")
            assert given[name].flatten().tolist() == value.flatten().tolist()


@pytest.mark.filterwarnings("ignore")
def test_a_model_computes_documents_as_if_each_were_alone() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    model = transformers.LlamaForCausalLM(config).double().eval()
    layout = {"layout": "LAYOUT_HF_FLAT", "pad_tokens_to": 32}
    micro_batch = random_steps.of_documents(
        [9, 1, 12], changes={"consumer_layout": layout}
    )
    ids = np.random.default_rng(1).integers(0, 64, 22)
    batch = torch_tensors(hf_flat_batch(micro_batch, ids))
    names = ("input_ids", "position_ids", "labels")
    with torch.no_grad():
        packed = model(**{name: batch[name] for name in names}, use_cache=False)
        alone = [
            model(input_ids=torch.from_numpy(piece)[None], use_cache=False).logits[0]
            for piece in np.split(ids, [9, 10])
        ]
    assert packed.logits.shape[1] == 32
    assert torch.allclose(packed.logits[0, :22], torch.cat(alone))
    losses = [
        torch.nn.functional.cross_entropy(
            logits[:-1], torch.from_numpy(piece)[1:], reduction="sum"
        )
        for logits, piece in zip(alone, np.split(ids, [9, 10]), strict=True)
    ]
    assert torch.allclose(packed.loss.double(), sum(losses) / (22 - 3), rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_model_takes_a_micro_batch_without_documents() -> None:
    """Whose gradients are 0: ranks that exchange theirs have to meet."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    model = transformers.LlamaForCausalLM(config)
    of_job = random_steps.micro_batches("hf_flat", 1, random_steps.SPLIT)
    micro_batch = next(each for each in of_job if each.documents == 0)
    ids = random_steps.token_ids(micro_batch)
    batch = torch_tensors(hf_flat_batch(micro_batch, ids, pad_token=7))
    assert batch["input_ids"].tolist() == [[7]]
    model(**batch, use_cache=False, num_items_in_batch=3).loss.backward()
    for weight in model.parameters():
        assert weight.grad is not None
        assert not weight.grad.any()

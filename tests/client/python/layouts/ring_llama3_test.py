"""Tests of what the llama3 style of ring-flash-attention takes."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack._native import MicroBatch
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.ring_llama3 import RingLlama3Batch, ring_llama3_batch
from numpy.typing import NDArray

CASES = [
    pytest.param(context, variant, id=f"cp{context}-{name}")
    for context in (1, 2, 3, 4)
    for name, variant in random_steps.VARIANTS.items()
]


def _batch(micro_batch: MicroBatch, rank: int) -> RingLlama3Batch:
    return ring_llama3_batch(micro_batch, random_steps.token_ids(micro_batch), rank)


def _attention(
    queries: NDArray[np.float64], keys: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Causal, the last query seeing all keys; values are the keys."""
    scores = queries @ keys.T
    hidden = np.arange(len(keys)) > np.arange(len(queries))[:, None] + (
        len(keys) - len(queries)
    )
    weights = np.exp(np.where(hidden, -np.inf, scores))
    result: NDArray[np.float64] = weights @ keys / weights.sum(1, keepdims=True)
    return result


@pytest.mark.parametrize(("context", "variant"), CASES)
def test_attention_by_ranks_is_that_by_documents(
    context: int, variant: dict[str, Any]
) -> None:
    generator = np.random.default_rng(4)
    for micro_batch in random_steps.micro_batches("ring_llama3", context, variant):
        starts = micro_batch.cu_seqlens_padded
        queries, keys = generator.random((2, micro_batch.padded_tokens, 3))
        expected = [
            _attention(queries[begin:end], keys[begin:end])
            for begin, end in pairwise(starts)
        ]
        found = []
        for rank, own in enumerate(np.split(queries, context)):
            batch = _batch(micro_batch, rank)
            gathered = keys[batch.local_k_slice]
            cuts = zip(
                np.split(own, batch.cu_seqlens_q[1:-1]),
                np.split(gathered, batch.cu_seqlens_k[1:-1]),
                strict=True,
            )
            found += [_attention(some, seen) for some, seen in cuts if len(own)]
            assert batch.cu_seqlens_q[-1] == len(own)
            assert batch.cu_seqlens_k[-1] == len(gathered)
        together = np.concatenate([np.zeros((0, 3)), *found])
        assert np.allclose(together, np.concatenate([np.zeros((0, 3)), *expected]))


@pytest.mark.parametrize(("context", "variant"), CASES)
def test_ranks_have_equal_runs_of_the_sequence(
    context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches("ring_llama3", context, variant):
        parts = [_batch(micro_batch, rank) for rank in range(context)]
        assert len({part.tokens.size for part in parts}) == 1
        tokens = np.concatenate([part.tokens for part in parts])
        documents = zip(micro_batch.cu_seqlens_padded, micro_batch.length, strict=False)
        own = [tokens[begin : begin + length] for begin, length in documents]
        ids = random_steps.token_ids(micro_batch)
        assert np.concatenate([ids[:0], *own]).tolist() == ids.tolist()
        for part in parts:
            assert part.cu_seqlens_q.dtype == part.cu_seqlens_k.dtype == np.int32
            assert part.max_seqlen_q == np.diff(part.cu_seqlens_q).max(initial=0)
            assert part.max_seqlen_k == np.diff(part.cu_seqlens_k).max(initial=0)


def test_keys_begin_where_the_first_document_of_the_run_does() -> None:
    micro_batch = random_steps.of_documents([7, 7, 2], layout="ring_llama3", context=2)
    batch = _batch(micro_batch, 1)
    assert batch.cu_seqlens_q.tolist() == [0, 6, 8]
    assert batch.cu_seqlens_k.tolist() == [0, 7, 9]
    assert batch.local_k_slice == slice(7, 16)
    assert (batch.max_seqlen_q, batch.max_seqlen_k) == (6, 7)


class _Module(ModuleType):
    """Stands for one that needs a device; what it has is not called here."""

    __path__: list[str]

    def __getattr__(self, name: str) -> object:
        return object()


def _ring_flash_attention(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The library's module for this style, without the others and without kernels."""
    found = importlib.util.find_spec("ring_flash_attn")
    if found is None or found.submodule_search_locations is None:
        pytest.skip("ring_flash_attn is not installed")
    library = _Module("ring_flash_attn")
    library.__path__ = list(found.submodule_search_locations)
    kernels = _Module("flash_attn")
    kernels.__path__ = []
    monkeypatch.setitem(sys.modules, "ring_flash_attn", library)
    monkeypatch.setitem(sys.modules, "flash_attn", kernels)
    interface = "flash_attn.flash_attn_interface"
    monkeypatch.setitem(sys.modules, interface, _Module(interface))
    return importlib.import_module("ring_flash_attn.llama3_flash_attn_varlen")


@pytest.mark.parametrize("context", [2, 3, 4])
@pytest.mark.parametrize("variant", random_steps.VARIANTS.values())
@pytest.mark.filterwarnings("ignore")
def test_arguments_are_those_that_ring_flash_attention_prepares(
    context: int, variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    ring = _ring_flash_attention(monkeypatch)
    for micro_batch in random_steps.micro_batches("ring_llama3", context, variant):
        if micro_batch.documents == 0:
            continue
        for rank in range(context):
            queries, keys, most_queries, most_keys, needed = (
                ring.llama3_flash_attn_prepare_cu_seqlens(
                    torch.from_numpy(micro_batch.cu_seqlens_padded),
                    causal=True,
                    rank=rank,
                    world_size=context,
                )
            )
            batch = _batch(micro_batch, rank)
            assert batch.cu_seqlens_q.tolist() == queries.tolist()
            assert batch.cu_seqlens_k.tolist() == keys.tolist()
            assert batch.max_seqlen_q == most_queries
            assert batch.max_seqlen_k == most_keys
            assert batch.local_k_slice == needed


def test_another_layout_or_rank_is_refused() -> None:
    other = random_steps.of_documents([8], layout="te_thd", context=2)
    with pytest.raises(InvalidArgumentError, match=r"^layout: te_thd is not accepted"):
        _batch(other, 0)
    micro_batch = random_steps.of_documents([8], layout="ring_llama3", context=2)
    with pytest.raises(InvalidArgumentError, match=r"^cp_rank: 2 is not accepted"):
        _batch(micro_batch, 2)

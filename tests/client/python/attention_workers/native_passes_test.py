"""What the native module is given of PyTorch's tensors and streams."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import example_attention
import pytest
import torch
from dlpack_structs import CUDA, ManagedTensor
from evenpack import MicroBatch, _worker
from evenpack.attention_workers import AttentionForm
from evenpack.attention_workers.native_passes import NativePasses
from evenpack.errors import InvalidArgumentError


class OnDevice:
    """Claims to be float32 on a CUDA device, as DLPack says it."""

    def __init__(self, device: int, *shape: int) -> None:
        """Of any memory: nobody is to read it."""
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._managed = ManagedTensor()
        of = self._managed.tensor
        of.device_type, of.device, of.dimensions = CUDA, device, len(shape)
        of.code, of.bits, of.lanes, of.shape = 2, 32, 1, self._shape

    def __dlpack_device__(self) -> tuple[int, int]:
        """Its type and number."""
        return CUDA, self._managed.tensor.device

    def __dlpack__(self, **_: object) -> object:
        """The protocol's capsule."""
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self._managed), b"dltensor", None)


def _prepared(micro_batch: MicroBatch) -> _worker.Prepared:
    form = AttentionForm(torch.float32, 4, 2, 64)
    return _worker.Prepared.make(
        micro_batch.plan, 0, form.native(), 0, keys_together=False
    )


def test_tensors_of_a_device_are_not_read_as_the_processs() -> None:
    """Nor the other way: each is named with where it is."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    rows = micro_batch.tokens
    here = {heads: torch.zeros(rows, heads, 64) for heads in (2, 4)}
    there = OnDevice(3, rows, 2, 64)
    worker = _worker.Alone(_worker.Form.processor(1))
    with pytest.raises(
        InvalidArgumentError, match=r"value: on CUDA device 3 .*in the process's memory"
    ):
        worker.forward(
            _prepared(micro_batch),
            here[4],
            here[2],
            there,
            here[4].clone(),
            torch.zeros(rows, 4),
            stream=0,
        )


class Remembering:
    """In place of a native worker."""

    def __init__(self) -> None:
        """Nothing so far."""
        self.streams: list[int] = []

    def forward(self, *_: object, stream: int) -> None:
        """As Alone."""
        self.streams.append(stream)

    backward = forward


class PassesAlone(NativePasses):
    """Without steps."""

    def end_step(self, _: int) -> None:
        """Nothing."""

    def abandon_step(self, _: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def test_passes_are_of_pytorchs_present_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device; the processor has none."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    native = Remembering()
    form = SimpleNamespace(cuda_device=1, keys_together=True)
    passes = PassesAlone(native, form, 0, 1)  # type: ignore[arg-type]
    assert passes.device == torch.device("cuda", 1)
    monkeypatch.setattr(
        torch.cuda,
        "current_stream",
        lambda device: SimpleNamespace(cuda_stream=70 + device.index),
    )
    query = torch.zeros(micro_batch.tokens, 4, 64)
    key = torch.zeros(micro_batch.tokens, 2, 64)
    attention = AttentionForm(torch.float32, 4, 2, 64)
    done = passes.run_forward(micro_batch, attention, query, key, key)
    passes.run_backward(done.state, done.saved, query)
    passes.device = torch.device("cpu")
    passes.run_forward(micro_batch, attention, query, key, key)
    assert native.streams == [71, 71, 0]

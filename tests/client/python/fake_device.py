"""A trainer's side of libfake_cuda.so, the double of the CUDA driver."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

import torch
from dlpack_structs import CUDA, ManagedTensor
from evenpack.attention_workers.arena_memory import ArenaMemory

_TESTS = Path(os.environ["EVENPACK_WORKER_PROGRAM"]).parents[1] / "tests"
DRIVER = str(_TESTS / "libfake_cuda.so")
SIDECAR_ON_DOUBLES = str(_TESTS / "sidecar_on_doubles")

_Work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class FakeDevice:
    """Device 0, with one stream; the device's memory is the host's.

    One thread at a time.
    """

    def __init__(self) -> None:
        """Makes the stream."""
        self._driver = ctypes.CDLL(DRIVER)
        self._work: list[object] = []
        self._context = ctypes.c_void_p()
        self._stream = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), 0)
        self._in_context("cuStreamCreateWithPriority", ctypes.byref(self._stream), 1, 0)

    def _call(self, name: str, *given: object) -> None:
        result = getattr(self._driver, name)(*given)
        assert result == 0, f"{name}: {result}"

    def _in_context(self, name: str, *given: object) -> None:
        popped = ctypes.c_void_p()
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            self._call(name, *given)
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(popped))

    @property
    def stream(self) -> int:
        """As PyTorch tells a stream's handle."""
        assert self._stream.value is not None
        return self._stream.value

    def put(self, work: Callable[[], object]) -> None:
        """Called when the stream has done what it was given before."""
        self._work.append(_Work(lambda _: work()))
        self._in_context("cuLaunchHostFunc", self._stream, self._work[-1], None)

    def synchronize(self) -> None:
        """Returns when the stream has done what it was given."""
        self._in_context("cuStreamSynchronize", self._stream)

    def misuse(self) -> str:
        """What no device would forgive, so far."""
        self._driver.fakeCudaMisuse.restype = ctypes.c_char_p
        noted: bytes = self._driver.fakeCudaMisuse()
        return noted.decode()


class FakeDeviceMemory(ArenaMemory):
    """As DeviceArenaMemory, with tensors that PyTorch takes for the processor's."""

    def __init__(self, number: int, *, waits: bool = True) -> None:
        """Of the device with that number.

        `waits`: results are there when they are copied.
        """
        self._number = number
        self._waits = waits
        self.fake = FakeDevice()

    def stream(self) -> int:
        """Always the same."""
        return self.fake.stream

    def tensor(self, memory: object) -> torch.Tensor:
        """Over the memory as DLPack's capsule tells it."""
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype = ctypes.c_void_p
        pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
        of = ManagedTensor.from_address(pointer(memory, b"dltensor")).tensor
        assert (of.device_type, of.device) == (CUDA, self._number)
        assert (of.code, of.bits, of.lanes, of.dimensions) == (1, 8, 1, 1)
        size = of.shape[0]
        if size == 0:
            return torch.empty(0, dtype=torch.uint8)
        array = (ctypes.c_uint8 * size).from_address(of.data)
        array.owner = memory
        return torch.frombuffer(array, dtype=torch.uint8)

    def copy_out(self, tensor: torch.Tensor) -> torch.Tensor:
        """As ArenaMemory, when the stream is there."""
        if not self._waits:
            return tensor
        self.fake.synchronize()
        return tensor.clone()

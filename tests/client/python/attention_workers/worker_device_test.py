"""Where a worker can compute."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from evenpack.attention_workers.worker_device import computing_on, device_of
from evenpack.errors import FailedPreconditionError, InvalidArgumentError


def test_the_processor_is_a_device_like_others() -> None:
    """Whose engine takes keys where they are."""
    form = computing_on("cpu", threads=2, memory_bytes=0, host="127.0.0.1")
    assert device_of(form) == torch.device("cpu")
    assert not form.keys_together


def test_a_device_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what would be looked for."""
    monkeypatch.setenv("EVENPACK_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    with pytest.raises(FailedPreconditionError, match=r"/nowhere/libcuda.so.1.*accept"):
        computing_on("cuda:0", threads=1, memory_bytes=1 << 20, host="127.0.0.1")


def test_other_kinds_of_devices_are_refused() -> None:
    """By name."""
    others: tuple[Any, ...] = ("meta", "nope", "cuda:-1", 1.5, None)
    for device in others:
        with pytest.raises(InvalidArgumentError) as error:
            computing_on(device, threads=1, memory_bytes=0)
        assert str(error.value) == (
            f"device: {device!r} is not accepted; accepted: cpu, cuda or cuda:N"
        )

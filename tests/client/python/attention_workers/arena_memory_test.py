"""How PyTorch's streams use an arena on a device, without one."""

from __future__ import annotations

import pytest
import torch
from evenpack.attention_workers.arena_memory import DeviceArenaMemory
from evenpack.errors import FailedPreconditionError


class Stream:
    """In place of PyTorch's."""

    def __init__(self, handle: int) -> None:
        """That has waited for none."""
        self.cuda_stream = handle
        self.waited_for: list[Stream] = []

    def wait_stream(self, other: Stream) -> None:
        """Notes it."""
        self.waited_for.append(other)


class Streams:
    """In place of PyTorch's current one and its state."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, streams: list[Stream]) -> None:
        """Current in that order."""
        self.is_captured = False
        used = iter(streams)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda _: next(used))
        monkeypatch.setattr(
            torch.cuda, "is_current_stream_capturing", lambda: self.is_captured
        )


def test_a_stream_comes_after_the_one_that_used_the_memory_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time they change; one that goes on waits for none."""
    first, second = Stream(1), Stream(2)
    Streams(monkeypatch, [first, first, second, second, first])
    memory = DeviceArenaMemory(3)
    assert memory.device == torch.device("cuda", 3)
    assert [memory.stream() for _ in range(5)] == [1, 1, 2, 2, 1]
    assert (first.waited_for, second.waited_for) == ([second], [first])


def test_a_stream_that_is_captured_is_refused_and_gets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it would wait for is none of its graph's; the order is as it was."""
    first, captured = Stream(1), Stream(2)
    streams = Streams(monkeypatch, [first, captured, captured])
    memory = DeviceArenaMemory(3)
    memory.stream()
    streams.is_captured = True
    with pytest.raises(FailedPreconditionError, match="is being captured for a CUDA"):
        memory.stream()
    assert captured.waited_for == []
    streams.is_captured = False
    memory.stream()
    assert captured.waited_for == [first]

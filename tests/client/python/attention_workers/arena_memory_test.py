"""How PyTorch's streams use an arena on a device, without one."""

from __future__ import annotations

import pytest
import torch
from evenpack.attention_workers.arena_memory import DeviceArenaMemory


class Stream:
    """In place of PyTorch's."""

    def __init__(self, handle: int) -> None:
        """That has waited for none."""
        self.cuda_stream = handle
        self.waited_for: list[Stream] = []

    def wait_stream(self, other: Stream) -> None:
        """Notes it."""
        self.waited_for.append(other)


def test_a_stream_comes_after_the_one_that_used_the_memory_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time they change; one that goes on waits for none."""
    first, second = streams = Stream(1), Stream(2)
    used = iter([0, 0, 1, 1, 0])
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: streams[next(used)])
    memory = DeviceArenaMemory(3)
    assert memory.device == torch.device("cuda", 3)
    assert [memory.stream() for _ in range(5)] == [1, 1, 2, 2, 1]
    assert (first.waited_for, second.waited_for) == ([second], [first])

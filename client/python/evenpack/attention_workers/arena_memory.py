"""How PyTorch has the memory that a trainer and its worker share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from evenpack.errors import FailedPreconditionError


class ArenaMemory:
    """In the processes' memory; a pass is waited for.

    Attributes:
        device: of its tensors.
    """

    device = torch.device("cpu")

    def stream(self) -> int:
        """That in which what follows uses the memory, as a number."""
        return 0

    def tensor(self, memory: Any) -> Tensor:  # noqa: ANN401 - as the link gives it
        """Of uint8, over a part of it."""
        return torch.from_numpy(memory)

    def copy_out(self, tensor: Tensor) -> Tensor:
        """What a pass has left, in memory of PyTorch's own."""
        return tensor.clone()


class DeviceArenaMemory(ArenaMemory):
    """On a CUDA device; a pass comes in the order of PyTorch's current stream.

    Memory is given back while the device may still use it, so that each stream comes
    after the one that used it before.
    """

    def __init__(self, number: int) -> None:
        """On that device, as this process counts them."""
        self.device = torch.device("cuda", number)
        self._last: torch.cuda.Stream | None = None

    def stream(self) -> int:
        """As ArenaMemory.

        Raises:
            FailedPreconditionError: it is being captured for a CUDA graph, in which
                nothing is left then.
        """
        if torch.cuda.is_current_stream_capturing():
            raise FailedPreconditionError(
                "the trainer's stream is being captured for a CUDA graph; accepted: "
                "one that is not"
            )
        current = torch.cuda.current_stream(self.device)
        if self._last is not None and self._last != current:
            current.wait_stream(self._last)
        self._last = current
        return current.cuda_stream

    def tensor(self, memory: Any) -> Tensor:  # noqa: ANN401
        """As ArenaMemory."""
        return from_dlpack(memory)

"""Which tensors have memory that kernels can read and write."""

from __future__ import annotations

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from evenpack.invalid_argument import check_class, invalid_argument

_ACCEPTED = "a dense torch.Tensor with memory of its own, such as a DTensor's local one"


def check_plain(field: str, tensor: Tensor) -> None:
    """Refuses what has its numbers elsewhere than row after row in memory.

    Raises:
        InvalidArgumentError: a wrapper of other tensors, a fake, sparse or nested
            tensor, one whose storage was freed, or no tensor.
    """
    check_class(field, tensor, Tensor, "a torch.Tensor")
    kind = _kind(tensor)
    if kind is not None:
        raise invalid_argument(field, kind, _ACCEPTED)


def _kind(tensor: Tensor) -> str | None:
    """What it is that has no such memory; None: it has."""
    # Who does operations in its own way may have no memory at all.
    if type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return f"a {type(tensor).__name__}"
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout != torch.strided:
        return f"a tensor of {tensor.layout}"
    # Not seen through by torch.compile, and found by the native module as well.
    if torch.compiler.is_compiling():
        return None
    if is_functorch_wrapped_tensor(tensor):
        return "a tensor of torch.func"
    if tensor._is_zerotensor():
        return "a tensor of zeros that has no memory"
    if tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0:
        return "a tensor whose storage was freed"
    return None

"""Tensors whose memory isn't what it seems."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
from evenpack.attention_workers.plain_tensor import check_plain
from evenpack.errors import InvalidArgumentError
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

DENSE = torch.ones(3, 2, 64)


class OfAnotherName(Tensor):
    """As libraries have, with memory of its own."""


def _fake() -> Tensor:
    with FakeTensorMode():
        return torch.empty(3, 2, 64)


def _freed() -> Tensor:
    tensor = DENSE.clone()
    tensor.untyped_storage().resize_(0)
    return tensor


def _nested() -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([DENSE])


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (_fake, "a FakeTensor"),
        (DENSE.to_sparse, "a tensor of torch.sparse_coo"),
        (_nested, "a nested tensor"),
        (lambda: torch._efficientzerotensor((3, 2, 64)), "a tensor of zeros"),
        (_freed, "a tensor whose storage was freed"),
        (lambda: None, "None"),
        (lambda: DENSE.numpy(), "ndarray"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_has_no_memory_of_its_own_is_refused(
    make: Callable[[], Tensor], kind: str
) -> None:
    """By its kind: kernels would end the process."""
    with pytest.raises(InvalidArgumentError, match=f"^query: {kind}.* is not accepted"):
        check_plain("query", make())


def test_what_torch_func_has_wrapped_is_refused() -> None:
    """It stands for several tensors, or for one and its tangent."""
    with pytest.raises(InvalidArgumentError, match=r"^query: a tensor of torch"):
        torch.vmap(lambda row: check_plain("query", row))(DENSE)


@pytest.mark.parametrize(
    "tensor",
    [
        DENSE,
        DENSE[1:],
        DENSE[:0],
        torch.nn.Parameter(DENSE),
        DENSE.as_subclass(OfAnotherName),
        torch.empty(0),
        torch.empty(3, device="meta"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_has_memory_of_its_own_is_accepted(tensor: Tensor) -> None:
    """Whatever it is called; which device is not this one's affair."""
    check_plain("query", tensor)

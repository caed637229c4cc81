"""Where a worker computes: the processor, or a CUDA device."""

from __future__ import annotations

import torch

from evenpack.attention_workers.native_worker import _worker
from evenpack.invalid_argument import invalid_argument, quoted

# That passes may take beside the tensors.
DEFAULT_MEMORY_BYTES = 16 << 30

_DEVICES = "cpu, cuda or cuda:N"


def checked_device(device: torch.device | str) -> torch.device:
    """The processor or a CUDA device, by PyTorch's name for it.

    Raises:
        InvalidArgumentError: another kind of device, or none.
    """
    try:
        where = torch.device(device)
    except (TypeError, RuntimeError) as error:
        raise invalid_argument("device", quoted(device), _DEVICES) from error
    if where.type not in ("cpu", "cuda"):
        raise invalid_argument("device", quoted(str(where)), _DEVICES)
    return where


def computing_on(
    device: torch.device | str,
    *,
    threads: int,
    memory_bytes: int,
    host: str = "127.0.0.1",
    connect_seconds: float = 60.0,
    exchange_seconds: float = 600.0,
) -> _worker.Form:
    """What a rank computes with there, and meets its peers over.

    Args:
        device: "cpu", "cuda" for PyTorch's present device, or "cuda:N".
        threads: on the processor.
        memory_bytes: on a device.
        host: on the processor, the address that peers reach the rank at.
        connect_seconds: how long ranks wait for each other's connections.
        exchange_seconds: and for each other in an exchange.

    Raises:
        InvalidArgumentError: as checked_device().
        FailedPreconditionError: there is no CUDA driver, no cuDNN, or the package was
            built without one of them.
    """
    where = checked_device(device)
    if where.type == "cpu":
        return _worker.Form.processor(threads, host, connect_seconds, exchange_seconds)
    number = torch.cuda.current_device() if where.index is None else where.index
    return _worker.Form.cuda(number, memory_bytes, connect_seconds, exchange_seconds)


def device_of(form: _worker.Form) -> torch.device:
    """Where its tensors are."""
    if form.cuda_device is None:
        return torch.device("cpu")
    return torch.device("cuda", form.cuda_device)

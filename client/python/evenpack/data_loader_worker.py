"""What a DataLoader's worker can't do with a dataset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evenpack.invalid_argument import invalid_argument

if TYPE_CHECKING:
    from torch.utils.data._utils.worker import WorkerInfo


def _worker_info() -> WorkerInfo | None:
    torch_data = sys.modules.get("torch.utils.data")
    if torch_data is None:
        return None
    info: WorkerInfo | None = torch_data.get_worker_info()
    return info


def is_worker() -> bool:
    """Whether this process is a DataLoader's worker."""
    return _worker_info() is not None


def check_worker(*, broadcasts: bool) -> None:
    """Refuses a worker where it can't have the steps.

    Args:
        broadcasts: the steps come over a process group.

    Raises:
        InvalidArgumentError: one of several, or one without the group.
    """
    worker = _worker_info()
    if worker is None:
        return
    if broadcasts:
        raise invalid_argument(
            "num_workers",
            worker.num_workers,
            "0 with broadcast_group, since a process group is of the process that "
            "made it",
        )
    if worker.num_workers > 1:
        raise invalid_argument(
            "num_workers",
            worker.num_workers,
            "0 or 1, since a rank's steps are one stream in one order, and each worker "
            "would have all of it",
        )

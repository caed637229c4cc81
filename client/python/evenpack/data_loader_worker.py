"""What a DataLoader's worker can't do with a dataset."""

from __future__ import annotations

import sys

from evenpack.errors import FailedPreconditionError
from evenpack.invalid_argument import invalid_argument


def check_worker(*, broadcasts: bool, left_early: bool) -> bool:
    """Refuses a worker where it can't have the steps.

    Args:
        broadcasts: the steps come over a process group.
        left_early: this process began to iterate over them before, and didn't end.

    Returns:
        Whether this process is a worker.

    Raises:
        InvalidArgumentError: one of several, or one without the group.
        FailedPreconditionError: a persistent one, of which the trainer did not take
            all that it has fetched.
    """
    torch_data = sys.modules.get("torch.utils.data")
    worker = torch_data.get_worker_info() if torch_data is not None else None
    if worker is None:
        return False
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
    if left_early:
        raise FailedPreconditionError(
            "persistent_workers: True is not accepted behind a loop that was left "
            "early or failed: steps that the worker has fetched ahead would be lost; "
            "accepted: False, or a StatefulDataLoader that has loaded its state"
        )
    return True

"""What a dataset's state has in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenpack.invalid_argument import (
    check_class,
    checked_bytes,
    invalid_argument,
    quoted,
)
from evenpack.steps import Position

_VERSION = 1


def made_state(
    position: Position | None, job: str | None, checkpoint: bytes | None
) -> dict[str, Any]:
    """As `PackedDataset.state_dict` returns it."""
    return {
        "version": _VERSION,
        "next_step": None if position is None else position.next_step,
        "digest": None if position is None else position.digest,
        "epoch": 0 if position is None else position.epoch,
        "job": job,
        "checkpoint": checkpoint,
    }


def read_state(
    state: Mapping[str, Any], *, needs_checkpoint: bool
) -> tuple[Position | None, bytes | None]:
    """Where the dataset was, None before the first step; and the job's checkpoint.

    Raises:
        InvalidArgumentError: it is of another version, has what can't be, or lacks the
            checkpoint that is needed.
    """
    check_class("state", state, Mapping, "a mapping, of state_dict()")
    version = state.get("version")
    if version != _VERSION:
        raise invalid_argument("version", quoted(version), str(_VERSION))
    position = Position.of_state(state)
    checkpoint = state.get("checkpoint")
    if checkpoint is not None:
        checkpoint = checked_bytes("checkpoint", checkpoint)
    if needs_checkpoint and position is not None and checkpoint is None:
        step = position.next_step - 1
        call = f"Client.checkpoint_job('{state.get('job')}', {step})"
        raise invalid_argument("checkpoint", None, f"that of {call}, without address")
    return position, checkpoint

"""What must hold of all that clients were told while their server was killed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mortal_server import Position
from worker_process import Told


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def _greatest(told: Iterable[Told], what: str, before: int) -> dict[str, int]:
    """The greatest number of each client until a moment."""
    greatest: dict[str, int] = {}
    for each in told:
        if each.what == what and each.at < before:
            known = greatest.get(each.client, 0)
            greatest[each.client] = max(known, each.number)
    return greatest


def check_nothing_goes_back(told: Sequence[Told]) -> None:
    """What is accepted and durable only grows, and a rank's steps come in order."""
    last: dict[tuple[str, str], int] = {}
    for each in told:
        key = (each.client, each.what)
        known = last.get(key)
        if each.what in ("accepted", "durable"):
            _require(each.number >= (known or 0), f"{each} after {known}")
        elif each.what == "step":
            following = 0 if known is None else known + 1
            _require(each.number == following, f"{each} after {known}")
        last[key] = each.number


def check_one_history(told: Iterable[Told]) -> None:
    """Whoever received a step, and whenever, got the same."""
    digests: dict[int, bytes] = {}
    for each in told:
        if each.what == "step":
            digest = digests.setdefault(each.number, each.digest)
            _require(digest == each.digest, f"{each}, of which another digest was told")


def check_positions(told: Sequence[Told], positions: Iterable[Position]) -> None:
    """A server that came back knew of all that had been told before.

    Producers are named after their streams, subscriptions after their DP ranks.
    """
    for position in positions:
        job = position.job
        where = f"job {job.name} after a restart at {position.at}"
        next_sequence = {each.name: each.next_sequence for each in job.streams}
        for stream, accepted in _greatest(told, "accepted", position.at).items():
            _require(
                next_sequence[stream] >= accepted,
                f"{where}: {next_sequence[stream]} documents of {stream} are accepted, "
                f"{accepted} were before",
            )
        for rank, steps in _greatest(told, "durable", position.at).items():
            durable = job.durable_steps_per_rank[int(rank)]
            _require(
                durable >= steps,
                f"{where}: {durable} steps of rank {rank} are durable, {steps} were",
            )
        for rank, step in _greatest(told, "step", position.at).items():
            _require(
                job.next_step > step,
                f"{where}: next_step {job.next_step}, rank {rank} has step {step}",
            )


def check(told: Iterable[Told], positions: Sequence[Position]) -> None:
    """All of it."""
    in_order = sorted(told)
    check_nothing_goes_back(in_order)
    check_one_history(in_order)
    check_positions(in_order, positions)

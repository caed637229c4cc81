"""Tests of evenpack.failing_iterator."""

from __future__ import annotations

from collections.abc import Iterator

import example_jobs
import pytest
from evenpack import PackedDataset
from evenpack.errors import CancelledError, InvalidArgumentError
from evenpack.failing_iterator import FailingIterator


def _items(error: BaseException | None) -> Iterator[int]:
    yield 1
    if error is not None:
        raise error
    yield 2


def test_items_come_and_the_end_stays() -> None:
    """As of any iterator."""
    iterator = FailingIterator(_items(None))
    assert list(iterator) == [1, 2]
    assert list(iterator) == []


@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt()])
def test_an_error_is_not_taken_for_the_end(error: BaseException) -> None:
    """By whoever asks again."""
    iterator = FailingIterator(_items(error))
    assert next(iterator) == 1
    with pytest.raises(type(error)):
        next(iterator)
    for _ in range(2):
        with pytest.raises(CancelledError) as again:
            next(iterator)
        assert f"ended with {error!r}; begin another" in again.value.message


def test_a_dataset_that_failed_does_not_say_that_its_job_has_ended() -> None:
    """To a trainer that tries again by itself."""
    iteration = iter(PackedDataset(spec=example_jobs.spec(), lengths=[5, 0]))
    with pytest.raises(InvalidArgumentError):
        next(iteration)
    with pytest.raises(CancelledError, match="begin another to go on"):
        next(iteration)

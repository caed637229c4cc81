"""Tests of which token each position is to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack._native import MicroBatch
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.next_token_labels import (
    IGNORED_LABEL,
    checked_tokens,
    next_token_labels,
    predicted_tokens,
)


def _labels(
    micro_batch: MicroBatch, counted: list[bool] | None, following: list[int] | None
) -> list[int]:
    labels = next_token_labels(
        micro_batch,
        random_steps.token_ids(micro_batch),
        None if counted is None else np.array(counted),
        None if following is None else np.array(following),
    )
    return [int(label) for label in labels]


def test_a_token_predicts_the_next_of_its_document_and_the_last_one_nothing() -> None:
    micro_batch = random_steps.of_documents([3, 1, 2])
    assert _labels(micro_batch, None, None) == [1, 2, -100, -100, 2001, -100]


def test_the_token_after_a_document_is_predicted_where_it_is_given() -> None:
    micro_batch = random_steps.of_documents([3, 1, 2])
    assert _labels(micro_batch, None, [77, 0, -1]) == [1, 2, 77, 0, 2001, -100]


@pytest.mark.parametrize("context", [1, 2])
def test_the_pieces_of_a_document_predict_all_of_it_but_its_first_token(
    context: int,
) -> None:
    predicted: list[int] = []
    batches = random_steps.micro_batches("native", context, random_steps.SPLIT)
    assert any((batch.offset > 0).any() for batch in batches)
    for batch in batches:
        ids = random_steps.token_ids(batch)
        labels = next_token_labels(batch, ids, None, random_steps.following_ids(batch))
        known = labels != IGNORED_LABEL
        assert (labels[known] == ids[known] + 1).all()
        predicted += labels[known].tolist()
    expected = [
        sequence * random_steps.DOCUMENT_IDS + position
        for sequence, length in enumerate(random_steps.random_lengths(1))
        for position in range(1, length)
    ]
    assert sorted(predicted) == expected


def test_only_tokens_that_count_are_predicted() -> None:
    micro_batch = random_steps.of_documents([3, 3])
    counted = [True, False, True, True, True, False]
    assert _labels(micro_batch, counted, None) == [-100, 2, -100, 1001, -100, -100]


def test_the_callers_mask_is_not_changed() -> None:
    counted = np.ones(6, np.bool_)
    predicted = predicted_tokens(random_steps.of_documents([3, 3]), counted)
    assert predicted.tolist() == [False, True, True, False, True, True]
    assert counted.all()


def test_documents_without_loss_tokens_predict_nothing() -> None:
    # The second counts as a whole: producers may leave the first token out or not.
    micro_batch = random_steps.of_documents([3, 3, 2], [0, 2, 2])
    labels = [-100, -100, -100, 1001, 1002, 9, 2001, -100]
    assert _labels(micro_batch, None, [9, 9, -1]) == labels


def test_a_mask_goes_before_the_number_of_loss_tokens() -> None:
    micro_batch = random_steps.of_documents([3], [0])
    assert _labels(micro_batch, [True] * 3, [5]) == [1, 2, 5]


def test_a_mask_is_needed_where_only_a_part_of_a_document_counts() -> None:
    micro_batch = random_steps.of_documents([4, 6], [4, 3])
    with pytest.raises(InvalidArgumentError) as error:
        _labels(micro_batch, None, None)
    assert str(error.value) == (
        "counted: None is not accepted; accepted: one entry a token, since 3 of 6 "
        "tokens of document 1 count in the loss"
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"counted": np.ones(2, np.bool_)}, "counted.shape: (2,) is not accepted"),
        ({"counted": np.ones(5)}, "counted.dtype: float64 is not accepted"),
        ({"following": np.ones(5, int)}, "following.shape: (5,) is not accepted"),
        ({"following": np.ones(2)}, "following.dtype: float64 is not accepted"),
        ({"counted": "x"}, "counted.shape: () is not accepted; accepted: (5,)"),
        (
            {"counted": [[True], [True, False]]},
            "counted: [[True], [True, False]] is not accepted; accepted: one row of "
            "booleans",
        ),
        (
            {"following": [[1], [2, 3]]},
            "following: [[1], [2, 3]] is not accepted; accepted: one row of integers",
        ),
    ],
)
def test_columns_of_another_shape_or_type_are_refused(
    columns: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {"counted": None, "following": None} | columns
    with pytest.raises(InvalidArgumentError) as error:
        next_token_labels(random_steps.of_documents([3, 2]), np.arange(5), **arguments)
    assert str(error.value).startswith(message)


def test_columns_may_be_lists_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    micro_batch = random_steps.of_documents([3, 2])
    rows: dict[str, Any] = {
        "tokens": [5, 6, 7, 8, 9],
        "counted": [True, True, False, True, True],
        "following": [-1, 10],
    }
    expected = [6, -100, -100, 9, 10]
    for make in (list, torch.tensor):
        given: dict[str, Any] = {name: make(row) for name, row in rows.items()}
        ids = checked_tokens(micro_batch, given["tokens"])
        found = next_token_labels(
            micro_batch, ids, given["counted"], given["following"]
        )
        assert found.tolist() == expected


def test_columns_of_a_micro_batch_without_a_token_may_be_empty_lists() -> None:
    of_job = random_steps.micro_batches("hf_flat", 1, random_steps.SPLIT)
    micro_batch = next(each for each in of_job if each.documents == 0)
    empty: Any = []
    ids = checked_tokens(micro_batch, empty)
    assert ids.dtype == np.int64
    assert next_token_labels(micro_batch, ids, empty, empty).tolist() == []


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.uint32, np.int64])
def test_token_ids_may_be_of_any_integer_type(kind: type[np.integer[Any]]) -> None:
    micro_batch = random_steps.of_documents([3])
    ids = checked_tokens(micro_batch, np.array([7, 0, 65535], kind))
    assert ids.dtype == np.int64
    assert ids.tolist() == [7, 0, 65535]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (np.arange(4), "tokens.shape: (4,) is not accepted; accepted: (3,)"),
        (np.ones((1, 3), int), "tokens.shape: (1, 3) is not accepted"),
        (np.ones(3), "tokens.dtype: float64 is not accepted; accepted: an integer"),
        (None, "tokens.shape: () is not accepted; accepted: (3,)"),
        ([7, None, 9], "tokens.dtype: object is not accepted; accepted: an integer"),
        (
            [[7], [8, 9]],
            "tokens: [[7], [8, 9]] is not accepted; accepted: one row of integers",
        ),
    ],
)
def test_tokens_of_another_shape_or_type_are_refused(
    tokens: Any,  # noqa: ANN401
    message: str,
) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        checked_tokens(random_steps.of_documents([3]), tokens)
    assert str(error.value).startswith(message)

"""Tests of evenpack.corpora.column_assembly."""

from __future__ import annotations

import numpy as np
from evenpack.corpora.column_assembly import ColumnAssembly
from evenpack.document_columns import Columns
from example_corpora import numbers


def _columns(lengths: list[int], **more: list[int]) -> Columns:
    return Columns(
        np.array(lengths, dtype=np.uint32),
        np.array(more["ids"], dtype=np.uint64) if "ids" in more else None,
        np.array(more["loss"], dtype=np.uint32) if "loss" in more else None,
        np.array(more["sources"], dtype=np.uint32) if "sources" in more else None,
    )


def test_parts_come_to_where_they_belong() -> None:
    assembly = ColumnAssembly(numbers([10, 11, 12]))
    assembly.put(np.array([2, 0]), _columns([7, 5]))
    assembly.put(slice(1, 2), _columns([6]))
    found = assembly.columns()
    assert found.lengths.tolist() == [5, 6, 7]
    assert found.lengths.dtype == np.uint32
    assert (found.ids, found.loss_tokens, found.sources) == (None, None, None)


def test_a_column_that_some_parts_have_is_filled_with_the_defaults() -> None:
    assembly = ColumnAssembly(numbers([10, 11, 12]))
    assembly.put(np.array([0]), _columns([5], ids=[1 << 63], loss=[2], sources=[9]))
    assembly.put(np.array([1, 2]), _columns([6, 7]))
    found = assembly.columns()
    assert found.ids is not None
    assert found.loss_tokens is not None
    assert found.sources is not None
    assert found.ids.tolist() == [1 << 63, 11, 12]
    assert found.loss_tokens.tolist() == [2, 6, 7]
    assert found.sources.tolist() == [9, 0, 0]


def test_ids_are_there_if_wanted_whatever_the_parts_have() -> None:
    assembly = ColumnAssembly(numbers([10, 11]), has_ids=True)
    assembly.put(slice(0, 2), _columns([5, 6]))
    found = assembly.columns()
    assert found.ids is not None
    assert found.ids.tolist() == [10, 11]
    assert (found.loss_tokens, found.sources) == (None, None)


def test_each_column_stands_for_itself() -> None:
    assembly = ColumnAssembly(numbers([4, 5]))
    assembly.put(slice(0, 1), _columns([1], sources=[3]))
    assembly.put(slice(1, 2), _columns([2], loss=[0]))
    found = assembly.columns()
    assert found.ids is None
    assert found.loss_tokens is not None
    assert found.loss_tokens.tolist() == [1, 0]
    assert found.sources is not None
    assert found.sources.tolist() == [3, 0]


def test_no_documents_come_to_empty_columns() -> None:
    assert ColumnAssembly(numbers([])).columns().lengths.tolist() == []

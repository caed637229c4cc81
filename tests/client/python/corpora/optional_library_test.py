"""Tests of evenpack.corpora.optional_library."""

from __future__ import annotations

import json

import pytest
from evenpack.corpora.optional_library import optional_library
from evenpack.errors import InvalidArgumentError


def test_a_library_that_is_there_is_imported() -> None:
    assert optional_library("json", "json", "corpus") is json


def test_a_missing_library_is_named_with_what_asked_for_it() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        optional_library("no_such_module", "no-such-package", "tokenizer")
    assert str(caught.value) == (
        "tokenizer: no-such-package is not installed (No module named "
        "'no_such_module'); accepted: an environment with it, as pip install "
        "no-such-package makes it"
    )

"""Tests of evenpack.corpora.fields."""

from __future__ import annotations

import pytest
from evenpack.corpora import Fields
from evenpack.errors import InvalidArgumentError
from example_corpora import refusal


@pytest.mark.parametrize("content", ["text", "tokens", "length"])
def test_one_content_is_enough(content: str) -> None:
    fields = Fields(**{content: "body"})
    assert fields.content == "body"
    assert fields.names() == ["body"]


def test_names_come_once_each() -> None:
    fields = Fields(length="n", id="key", loss_tokens="n", source="where")
    assert fields.names() == ["n", "key", "where"]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({}, "none of them"),
        ({"id": "key"}, "none of them"),
        ({"text": ""}, "none of them"),
        ({"text": "a", "length": "b"}, "text, length"),
    ],
)
def test_none_or_several_contents_are_refused(
    given: dict[str, str], value: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Fields(**given)
    assert str(caught.value) == (
        f"fields: {value} is not accepted; accepted: one of text, tokens, length"
    )


def test_a_name_that_is_no_text_is_refused() -> None:
    assert refusal(Fields, text="a", id=1) == (
        "fields.id: 1 is not accepted; accepted: a str"
    )

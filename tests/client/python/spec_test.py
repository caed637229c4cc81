"""Tests of evenpack.spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import example_jobs
import numpy as np
import pytest
from evenpack import job_spec
from evenpack.errors import InvalidArgumentError


def test_a_mapping_a_message_and_a_json_file_are_the_same_spec(tmp_path: Path) -> None:
    """Whatever is at hand."""
    fields = example_jobs.spec(max_length=8192)
    from_mapping = job_spec(fields)
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(fields), encoding="utf-8")
    assert job_spec(file) == job_spec(str(file)) == from_mapping
    assert job_spec(from_mapping) is from_mapping
    assert from_mapping.max_length == 8192
    assert list(from_mapping.policy.wlb.queue_thresholds) == [2000]


def test_yaml_is_read_where_it_can_be(tmp_path: Path) -> None:
    """As evenpackctl's spec files are written."""
    pytest.importorskip("yaml")
    file = tmp_path / "spec.yaml"
    file.write_text("window: 4096\nstreams: [{name: text}]\n", encoding="utf-8")
    assert job_spec(file).window == 4096


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("spec.json", '{"windo": 1}', "windo"),
        ("spec.json", "[1]", "list"),
        ("spec.json", "{", "Expecting"),
        ("spec.yaml", "window: [", "line 1"),
        ("missing.json", None, "No such file"),
    ],
)
def test_what_is_no_spec_is_refused_by_name(
    tmp_path: Path, name: str, text: str | None, named: str
) -> None:
    """The message says where and what."""
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=named):
        job_spec(file)


@pytest.mark.parametrize("source", [None, 3, [1], b"spec.json", np.zeros(2)])
def test_what_has_no_fields_is_refused(source: Any) -> None:  # noqa: ANN401
    """And no file's name either."""
    with pytest.raises(InvalidArgumentError) as refused:
        job_spec(source)
    assert refused.value.message == (
        f"spec: {source!r} is not accepted; accepted: a JobSpec, a mapping of its "
        "fields, or the path of a file"
    )


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    """As is a path that no file has."""
    file = tmp_path / "spec.json"
    file.write_bytes(b"\xff")
    with pytest.raises(InvalidArgumentError, match=f"^spec: {file} .*utf-8"):
        job_spec(file)
    with pytest.raises(InvalidArgumentError, match=r"^spec: .*embedded null"):
        job_spec("spec\0.json")

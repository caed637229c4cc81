"""A job's spec from what is at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import invalid_argument, quoted
from evenpack.v1.job_pb2 import JobSpec

# A message, the same as JSON has it, or a file of that.
SpecSource = JobSpec | Mapping[str, Any] | str | Path


def _yaml(text: str) -> object:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # of a file that is no text, or of the path
        why = error.strerror if isinstance(error, OSError) else error
        wrong = f"{path} ({why})"
        raise invalid_argument("spec", wrong, "a file of JSON or YAML") from error
    try:
        found = _yaml(text) if path.suffix in (".yaml", ".yml") else json.loads(text)
    except ImportError as error:
        accepted = "a .json file, or PyYAML installed"
        raise invalid_argument("spec", path, accepted) from error
    except ValueError as error:
        raise InvalidArgumentError(f"spec: {path}: {error}") from error
    if not isinstance(found, Mapping):
        raise invalid_argument(f"spec: {path}", type(found).__name__, "an object")
    return found


def job_spec(source: SpecSource) -> JobSpec:
    """An evenpack.v1.JobSpec.

    Args:
        source: a JobSpec; a mapping with its fields as protobuf's JSON form names them
            (`max_length` and `maxLength` both do); or the path of a .json or, where
            PyYAML is installed, .yaml file of that.

    Raises:
        InvalidArgumentError: no such file, no such field, or nothing of these.
    """
    if isinstance(source, JobSpec):
        return source
    if not isinstance(source, Mapping | str | os.PathLike):
        accepted = "a JobSpec, a mapping of its fields, or the path of a file"
        raise invalid_argument("spec", quoted(source), accepted)
    fields = source if isinstance(source, Mapping) else _read(Path(source))
    try:
        return json_format.ParseDict(dict(fields), JobSpec())
    except json_format.ParseError as error:
        raise InvalidArgumentError(f"spec: {error}") from error

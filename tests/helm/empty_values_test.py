"""A value that a file leaves empty, `key:`, is as if empty or refused by its name.

To helm that is null, which takes the chart's own value away.
"""

from __future__ import annotations

import json
import re
import tempfile
import unittest
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from chart import CHART, RefusedError, render

# Flags of the renderings that are tried, beside empty values: all kinds of TLS, stores
# and clients.
RENDERINGS = (
    [
        "--set=agent.enabled=true,sidecar.enabled=true,metrics.dashboards.enabled=true",
        "--set=metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true",
        "--set=metrics.prometheusRule.enabled=true",
    ],
    [
        "--set=tls.existingSecret=mine,tls.clientCertificates=request",
        "--set=sidecar.enabled=true",
    ],
    [
        "--set=tls.certManager.enabled=true",
        '--set-json=tls.certManager.issuerRef={"name": "internal"}',
        "--set=store.kind=postgresql,store.postgresql.target=dbname=a",
        "--set=server.replicas=2",
    ],
    [
        "--set=server.enabled=false,externalServer=packer:1,client.caSecret=ca",
        "--set=agent.enabled=true,sidecar.enabled=true",
    ],
)
# What helm says of values that are missing, and where.
MISSING = re.compile(r"^ *- at '(.*)': missing propert(?:y|ies) (.+)$", re.MULTILINE)


class Value(NamedTuple):
    """One of values.yaml."""

    path: tuple[str, ...]
    default: Any
    required: bool
    # Whether its members are values of their own.
    section: bool


def values() -> list[Value]:
    """All of values.yaml; a map that may be empty is one value."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    def within(
        given: dict[str, Any], about: dict[str, Any], path: tuple[str, ...]
    ) -> Iterator[Value]:
        for name, default in given.items():
            each = about["properties"][name]
            if reference := each.get("$ref"):
                each = schema["$defs"][reference.rpartition("/")[2]]
            required = name in about.get("required", ())
            section = required and "properties" in each
            yield Value((*path, name), default, required, section)
            if section:
                yield from within(default, each, (*path, name))

    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    return list(within(yaml.safe_load(text), schema, ()))


def empty(default: Any) -> Any:  # noqa: ANN401
    """The empty value of a type: of maps what takes each of their members away."""
    if default is None:
        return None
    if isinstance(default, dict):
        return dict.fromkeys(default)
    if isinstance(default, list | str):
        return type(default)()
    raise AssertionError(f"{default} is of no type that can be empty")


class EmptyValuesTest(unittest.TestCase):
    def flags(self, given: Iterable[tuple[tuple[str, ...], Any]]) -> list[str]:
        """Those that give helm a file with some values."""
        whole: dict[str, Any] = {}
        for path, value in given:
            section = whole
            for name in path[:-1]:
                section = section.setdefault(name, {})
            section[path[-1]] = value
        folder = self.enterContext(tempfile.TemporaryDirectory())
        file = Path(folder) / "values.yaml"
        file.write_text(yaml.safe_dump(whole), encoding="utf-8")
        return ["--values", str(file)]

    def test_what_may_be_empty_may_be_null(self) -> None:
        optional = [each for each in values() if not each.required]
        self.assertGreater(len(optional), 80)
        nulls = self.flags((each.path, None) for each in optional)
        empties = self.flags((each.path, empty(each.default)) for each in optional)
        for flags in RENDERINGS:
            with self.subTest(flags):
                self.assertEqual(render([*nulls, *flags]), render([*empties, *flags]))

    def missing(self, nulls: list[Value]) -> set[tuple[str, ...]]:
        """What helm says is missing where these are null."""
        with self.assertRaises(RefusedError) as caught:
            render(self.flags((each.path, None) for each in nulls))
        return {
            (*filter(None, where.split("/")), name)
            for where, names in MISSING.findall(str(caught.exception))
            for name in re.findall(r"'(.+?)'", names)
        }

    def test_what_may_not_be_empty_is_refused_by_its_name(self) -> None:
        required = [each for each in values() if each.required]
        self.assertGreater(len(required), 60)
        alone = [each for each in required if not each.section]
        sections = [each for each in required if each.section]
        for nulls in (
            alone,
            # Those of one depth at a time, since one within another is gone with it.
            *(
                [each for each in sections if len(each.path) == depth]
                for depth in (1, 2)
            ),
        ):
            paths = {each.path for each in nulls}
            self.assertTrue(paths)
            self.assertEqual(self.missing(nulls), paths)

    def test_sections_are_two_deep_at_most(self) -> None:
        self.assertEqual({len(each.path) for each in values() if each.section}, {1, 2})


if __name__ == "__main__":
    unittest.main()

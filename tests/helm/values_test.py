"""values.yaml, its schema, its table in the README and the programs' flags agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from typing import Any

import values_table
import yaml
from chart import CHART

# Flags of evenpack-server that the chart sets from other values, or that no file has.
SET_BY_THE_CHART = {
    *("listen", "http-listen", "health-listen", "store", "drain-seconds"),
    *("advertise",),
    *("roles", "tls-certificate", "tls-key", "tls-client-ca"),
    *("tls-client-certificates", "config", "help", "version"),
}
FLAG = re.compile(r"^  --([\w-]+) (\S+?)(?: in \[(\d+) - (\d+)\])?(?:=(\S+))?(?: |$)")
CHOICES = re.compile(r"^TEXT:\{(.+)\}$")


def schema_of_flags() -> dict[str, Any]:
    """Of server.config."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    server: dict[str, Any] = schema["properties"]["server"]
    properties: dict[str, Any] = server["properties"]["config"]["properties"]
    return properties


def flags_of_help() -> dict[str, Any]:
    """The server's flags, as a schema would have them."""
    shown = subprocess.run(
        [os.environ["EVENPACK_SERVER_PROGRAM"], "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout
    flags: dict[str, Any] = {}
    for line in shown.splitlines():
        if match := FLAG.match(line):
            name, kind, least, most, _ = match.groups()
            if choices := CHOICES.match(kind.partition("=")[0]):
                flags[name] = {"enum": choices.group(1).split(",")}
            elif least is not None:
                flags[name] = {
                    "type": "integer",
                    "minimum": int(least),
                    "maximum": int(most),
                }
            else:
                flags[name] = {"type": "string"}
    return flags


class FlagsTest(unittest.TestCase):
    def test_the_schema_has_the_servers_flags_and_bounds(self) -> None:
        given = schema_of_flags()
        flags = flags_of_help()
        self.assertLessEqual(SET_BY_THE_CHART - {"help", "version"}, set(flags))
        expected = {
            name: schema
            for name, schema in flags.items()
            if name not in SET_BY_THE_CHART
        }
        for schema in (*given.values(), *expected.values()):
            if "enum" in schema:
                schema["enum"].sort()
        self.assertEqual(given, expected)


class SchemaTest(unittest.TestCase):
    def setUp(self) -> None:
        text = (CHART / "values.schema.json").read_text(encoding="utf-8")
        self.schema = json.loads(text)

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in schema:
            return schema
        found: dict[str, Any] = self.schema["$defs"][schema["$ref"].rpartition("/")[2]]
        return found

    def unknown(self, values: Any, schema: dict[str, Any], path: str) -> list[str]:  # noqa: ANN401
        """Keys that the schema doesn't know."""
        schema = self.resolved(schema)
        properties = schema.get("properties")
        if not isinstance(values, dict) or properties is None:
            return []
        found = [f"{path}.{name}" for name in values if name not in properties]
        for name, value in values.items():
            found += self.unknown(value, properties.get(name, {}), f"{path}.{name}")
        return found

    def test_it_knows_every_value(self) -> None:
        values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        self.assertEqual(self.unknown(values, self.schema, ""), [])

    def closed(self, schema: dict[str, Any], path: str) -> list[str]:
        """Objects with properties that take others too."""
        schema = self.resolved(schema)
        found = []
        if "properties" in schema and schema.get("additionalProperties") is not False:
            found.append(path)
        for name, each in schema.get("properties", {}).items():
            found += self.closed(each, f"{path}.{name}")
        return found

    def test_it_takes_nothing_else(self) -> None:
        self.assertEqual(self.closed(self.schema, ""), [])

    def test_it_has_nothing_that_values_lack(self) -> None:
        """But what a chart that depends on this one gives, and server.config."""
        values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        lacking = set(self.schema["properties"]) - set(values)
        self.assertEqual(lacking, {"global", "enabled"})
        for name in values:
            section = self.schema["properties"][name]
            if isinstance(values[name], dict) and "properties" in section:
                self.assertEqual(set(section["properties"]), set(values[name]), name)


class DocumentTest(unittest.TestCase):
    def setUp(self) -> None:
        self.text = (CHART / "values.yaml").read_text(encoding="utf-8")

    def test_every_value_has_a_comment(self) -> None:
        rows = list(values_table.rows(self.text))
        self.assertGreater(len(rows), 80)
        lacking = [".".join(path) for path, _, comment in rows if not comment]
        self.assertEqual(lacking, [])

    def test_the_table_has_every_value(self) -> None:
        rows = {path for path, default, _ in values_table.rows(self.text) if default}

        def check(values: Any, path: tuple[str, ...]) -> None:  # noqa: ANN401
            if path in rows:
                return
            self.assertTrue(isinstance(values, dict) and values, path)
            for name, value in values.items():
                check(value, (*path, name))

        check(yaml.safe_load(self.text), ())

    def test_the_readme_has_the_table(self) -> None:
        readme = values_table.README.read_text(encoding="utf-8")
        self.assertEqual(
            readme,
            values_table.with_table(readme, self.text),
            "run: build-test-venv/bin/python -B tests/helm/values_table.py --write",
        )


if __name__ == "__main__":
    unittest.main()

"""The Dockerfile, as far as this repository's goes: stages of instructions."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    """One instruction: COPY, say, its flags by name, and what follows them."""

    name: str
    flags: Mapping[str, str]
    rest: str

    def words(self) -> list[str]:
        """What follows the flags as a list: of the exec form, or of a shell's words."""
        if self.rest.startswith("["):
            return [str(each) for each in json.loads(self.rest)]
        return shlex.split(self.rest)

    def is_exec_form(self) -> bool:
        """Whether no shell would run it."""
        return self.rest.startswith("[")


@dataclass
class Stage:
    """A stage: its name, the image or stage below it, and what is done there."""

    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def all_of(self, name: str) -> list[Instruction]:
        """Its instructions of a name, in order."""
        return [each for each in self.instructions if each.name == name]

    def last(self, name: str) -> Instruction | None:
        """The instruction of a name that counts, where there is one."""
        return next(iter(self.all_of(name)[::-1]), None)


def _lines(text: str) -> Iterator[str]:
    """Instructions, each as one line, without comments."""
    kept = "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("#")
    )
    for line in kept.replace("\\\n", " ").splitlines():
        if line.strip():
            yield line.strip()


def _instruction(line: str) -> Instruction:
    name, _, rest = line.partition(" ")
    flags = {}
    while match := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
        flags[match.group(1)] = match.group(2)
        rest = rest[match.end() :]
    return Instruction(name, flags, rest.strip())


def read_stages(path: Path) -> dict[str, Stage]:
    """The stages by name. A base that an ARG names is the ARG's default."""
    stages: dict[str, Stage] = {}
    arguments: dict[str, str] = {}
    current: Stage | None = None
    for line in _lines(path.read_text(encoding="utf-8")):
        instruction = _instruction(line)
        if instruction.name == "FROM":
            base, _, name = instruction.rest.partition(" AS ")
            for key, value in arguments.items():
                base = base.replace(f"${{{key}}}", value)
            current = stages[name] = Stage(name, base)
        elif current is None:
            key, _, value = instruction.rest.partition("=")
            arguments[key] = value
        else:
            current.instructions.append(instruction)
    return stages


def chain(stages: Mapping[str, Stage], name: str) -> Sequence[Stage]:
    """A stage and those of this file below it, the lowest first."""
    found = []
    while name in stages:
        found.append(stages[name])
        name = stages[name].base
    return found[::-1]

"""What is done to a run, and behind which steps.

A plan is written as "rank@6,server@10,reshape@14": behind step 6 a rank is killed,
behind step 10 the server, and behind step 14 the job goes on under DP 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Disturbances:
    """Steps behind which something happens, once each.

    Attributes:
        rank: a rank is killed.
        server: the server is killed and started again.
        reshape: the ranks stop, and fewer of them go on. No kill, but a part of the
            run: its undisturbed twin has it too.
    """

    rank: frozenset[int] = frozenset()
    server: frozenset[int] = frozenset()
    reshape: int | None = None

    @classmethod
    def parse(cls, plan: str) -> Disturbances:
        """From a plan as it is written; nothing at all where it is empty.

        Raises:
            ValueError: naming the part that is none.
        """
        found: dict[str, set[int]] = {"rank": set(), "server": set(), "reshape": set()}
        for part in filter(None, plan.split(",")):
            match = re.fullmatch(r"(rank|server|reshape)@(\d+)", part)
            if match is None:
                raise ValueError(
                    f"'{part}' is not accepted; accepted: rank@STEP, server@STEP and "
                    "reshape@STEP, with commas between them"
                )
            found[match[1]].add(int(match[2]))
        if len(found["reshape"]) > 1:
            raise ValueError(f"'{plan}' is not accepted; accepted: one reshape@STEP")
        return cls(
            rank=frozenset(found["rank"]),
            server=frozenset(found["server"]),
            reshape=next(iter(found["reshape"]), None),
        )

    def without_kills(self) -> Disturbances:
        """That of the undisturbed twin."""
        return Disturbances(reshape=self.reshape)

    def without_rank(self, step: int) -> Disturbances:
        """What is left once a rank was killed behind a step."""
        return replace(self, rank=self.rank - {step})

    def without_server(self, step: int) -> Disturbances:
        """What is left once the server was killed behind a step."""
        return replace(self, server=self.server - {step})

    def __str__(self) -> str:
        """As it is written."""
        parts = [f"rank@{step}" for step in sorted(self.rank)]
        parts += [f"server@{step}" for step in sorted(self.server)]
        parts += [] if self.reshape is None else [f"reshape@{self.reshape}"]
        return ",".join(parts)

"""PromQL over the series of the servers that the reader chose."""

from __future__ import annotations

from job_series import RATE
from panel_json import Variable

INSTANCE = Variable(
    "instance",
    "Server",
    "label_values(evenpack_build_info, instance)",
    includes_all=True,
)


def of_server(metric: str) -> str:
    """The series of the servers."""
    return f'{metric}{{instance=~"$instance"}}'


def process(metric: str) -> str:
    """A series that every process has, of the servers alone."""
    return f'{metric}{{job="evenpack-server",instance=~"$instance"}}'


def server_rate(metric: str, by: str = "") -> str:
    """What the servers' counter rises by in a second, summed up to the labels `by`."""
    kept = f" by ({by})" if by else ""
    return f"sum{kept} (rate({of_server(metric)}[{RATE}]))"

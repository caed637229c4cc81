"""PromQL over the series of the job that the reader chose, as most panels need it.

Grafana's are $__rate_interval, four scrape intervals or what a pixel shows if longer,
and $__range, all of the time that the dashboard shows.
"""

from __future__ import annotations

import re

from panel_json import Query, Variable

JOB = Variable("job", "Job", "label_values(evenpack_job_next_step, job)")
RATE = "$__rate_interval"
RANGE = "$__range"
# What a panel says that shows an expression of over_range().
OVER_RANGE = (
    "A mean over the time range that is shown; where no step was seen in that, over "
    "all that the server counted."
)
_RATE = re.compile(r"rate\((\w+\{[^}]*\})\[" + re.escape(RATE) + r"\]\)")


def of_job(metric: str, **labels: str) -> str:
    """The metric's series of the job, of which these labels have these values."""
    matchers = ['job="$job"', *(f'{name}="{labels[name]}"' for name in labels)]
    return f"{metric}{{{','.join(matchers)}}}"


def rate(metric: str, by: str = "", **labels: str) -> str:
    """What the job's counter rises by in a second, summed up to the labels `by`."""
    kept = f" by ({by})" if by else ""
    return f"sum{kept} (rate({of_job(metric, **labels)}[{RATE}]))"


def over_range(expr: str) -> str:
    """A quotient of rates, over all of the time that is shown: for a single figure.

    Where producers are faster than training, steps are decided right after a durable
    mark and none until the next, so that the last RATE has none nearly always. Those of
    a job's start may all be there at the first scrape, which no rate shows: until there
    are others, the quotient is that of the counters.
    """
    in_range = _RATE.sub(rf"rate(\1[{RANGE}])", expr)
    in_all = _RATE.sub(r"\1", expr)
    return f"{in_range} >= 0 or {in_all}"


def mean(histogram: str, by: str = "", **labels: str) -> str:
    """The mean of what the job's histogram observed."""
    total = rate(f"{histogram}_sum", by, **labels)
    return f"{total} / {rate(f'{histogram}_count', by, **labels)}"


def quantile(of: float, histogram: str, **labels: str) -> str:
    """A quantile of what the job's histogram observed."""
    buckets = rate(f"{histogram}_bucket", "le", **labels)
    return f"histogram_quantile({of}, {buckets})"


def quantiles(histogram: str, *of: float, **labels: str) -> list[Query]:
    """Some of its quantiles, named p50 and so on."""
    return [
        Query(quantile(each, histogram, **labels), f"p{each * 100:g}") for each in of
    ]


def imbalance_quantiles(histogram: str, *of: float, **labels: str) -> list[Query]:
    """Those of ratios that are 1 at least.

    Prometheus takes the first bucket for one that begins at 0, and would answer less.
    """
    return [
        Query(f"clamp_min({each.expr}, 1)", each.legend)
        for each in quantiles(histogram, *of, **labels)
    ]


def weighted_imbalance(packing: str) -> str:
    """Heaviest over mean micro-batch, each step by its time: what the clock sees."""
    heaviest = rate("evenpack_job_step_max_workload_seconds_total", packing=packing)
    even = rate("evenpack_job_step_mean_workload_seconds_total", packing=packing)
    return f"{heaviest} / {even}"

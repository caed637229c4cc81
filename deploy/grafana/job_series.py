"""PromQL over the series of the job that the reader chose, as most panels need it.

$__rate_interval is Grafana's: four scrape intervals, or what a pixel shows if longer.
"""

from __future__ import annotations

from panel_json import Query, Variable

JOB = Variable("job", "Job", "label_values(evenpack_job_next_step, job)")
RATE = "$__rate_interval"


def of_job(metric: str, **labels: str) -> str:
    """The metric's series of the job, of which these labels have these values."""
    matchers = ['job="$job"', *(f'{name}="{labels[name]}"' for name in labels)]
    return f"{metric}{{{','.join(matchers)}}}"


def rate(metric: str, by: str = "", **labels: str) -> str:
    """What the job's counter rises by in a second, summed up to the labels `by`."""
    kept = f" by ({by})" if by else ""
    return f"sum{kept} (rate({of_job(metric, **labels)}[{RATE}]))"


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

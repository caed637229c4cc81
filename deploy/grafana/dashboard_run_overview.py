"""What packing makes of a run: balance, what steps hold, delay, progress."""

from __future__ import annotations

from job_series import (
    JOB,
    OVER_RANGE,
    RANGE,
    imbalance_quantiles,
    mean,
    of_job,
    over_range,
    quantiles,
    rate,
    weighted_imbalance,
)
from panel_json import Dashboard, Panel, Query, Row

_FILL = "evenpack_job_step_fill_ratio"
_STEPS = rate("evenpack_job_steps_total")
_TOKENS = rate("evenpack_job_tokens_emitted_total")
_PADDING = rate("evenpack_job_padding_tokens_emitted_total")
_LONG_SHARE = f"{rate('evenpack_job_long_document_tokens_emitted_total')} / {_TOKENS}"
_GAIN = f"({weighted_imbalance('original')}) / ({weighted_imbalance('job')})"
# With f and q the means of fill and of its square, q / f^2 - 1 is the variance over the
# square of the mean; rounding may leave it just below 0.
_FILL_CV = (
    f"sqrt(clamp_min(({rate(f'{_FILL}_squares_total')} / {rate(f'{_FILL}_count')})"
    f" / ({mean(_FILL)}) ^ 2 - 1, 0))"
)
_WAITING = (
    f"sum({of_job('evenpack_job_left_over_tokens')})"
    f" + (sum({of_job('evenpack_job_queue_tokens')}) or vector(0))"
)
# Seconds waited over the seconds that subscribers were connected, a sample for each 15:
# right for a job that is younger than the range, or had more than one server within it.
# Of a wait that is reported within the range, some may have been before it.
_WAIT_SHARE = (
    f"clamp_max(sum(increase({of_job('evenpack_job_step_wait_seconds_total')}[{RANGE}]))"
    f" / (15 * sum(sum_over_time({of_job('evenpack_job_subscribers')}[{RANGE}:15s]))),"
    " 1)"
)


def _mean_workload(of: str, packing: str) -> str:
    total = rate(f"evenpack_job_step_{of}_workload_seconds_total", packing=packing)
    return f"{total} / {rate('evenpack_job_step_imbalance_count', packing=packing)}"


def _stat(
    title: str,
    description: str,
    unit: str,
    expr: str,
    warning: float | None = None,
    critical: float | None = None,
) -> Panel:
    return Panel(
        title,
        description,
        unit,
        [Query(expr, title)],
        kind="stat",
        width=4,
        height=4,
        decimals=3 if unit == "none" else 1,
        warning=warning,
        critical=critical,
        least=None,
    )


def _mean_stat(
    title: str, description: str, unit: str, quotient: str, *thresholds: float
) -> Panel:
    """One of a quotient of rates."""
    said = f"{description} {OVER_RANGE}"
    return _stat(title, said, unit, over_range(quotient), *thresholds)


_AT_A_GLANCE = Row(
    "Over the time range shown",
    [
        _mean_stat(
            "Imbalance",
            "Time of steps over what it were if all micro-batches were equal, "
            "predicted: 1 is perfect.",
            "none",
            weighted_imbalance("job"),
            1.05,
            1.1,
        ),
        _mean_stat(
            "Times faster than unpacked order",
            "Predicted time of the same documents under the policy `original` over "
            "that of the job's policy.",
            "none",
            _GAIN,
        ),
        _mean_stat(
            "CV of tokens per step",
            "Standard deviation over mean of the tokens of full steps.",
            "percentunit",
            _FILL_CV,
        ),
        _mean_stat(
            "Long documents",
            "Share of tokens in documents of a quarter window or more.",
            "percentunit",
            _LONG_SHARE,
        ),
        _mean_stat(
            "Mean delay",
            "Global batches admitted after a document's own before it came out.",
            "none",
            mean("evenpack_job_document_delay_batches"),
        ),
        _stat(
            "Waiting for steps",
            "Share of their time that trainers waited for steps, in the time range "
            "that is shown: as they report it once they have waited, over all "
            "subscribers. Ranks that share a plan agent's are one among these, a "
            "sidecar is one more.",
            "percentunit",
            _WAIT_SHARE,
            # As EvenpackTrainerWaited.
            0.05,
        ),
    ],
)

_BALANCE = Row(
    "Balance",
    [
        Panel(
            "Imbalance before and after",
            "Time of steps over that of even ones: of the documents as they come "
            "(`original`), and as they are packed.",
            "none",
            [
                Query(weighted_imbalance("original"), "before: original"),
                Query(weighted_imbalance("job"), "after: job's policy"),
            ],
            least=1,
        ),
        Panel(
            "Imbalance of steps",
            "Slowest over mean micro-batch of each full step, under the job's policy.",
            "none",
            imbalance_quantiles(
                "evenpack_job_step_imbalance", 0.5, 0.9, 0.99, packing="job"
            ),
            least=1,
        ),
        Panel(
            "Slowest and mean micro-batch",
            "Predicted forward time of each full step's slowest micro-batch and of its "
            "mean one.",
            "s",
            [
                Query(_mean_workload("max", "original"), "slowest, original"),
                Query(_mean_workload("max", "job"), "slowest, job"),
                Query(_mean_workload("mean", "job"), "mean, job"),
            ],
        ),
    ],
)

_HELD = Row(
    "What steps hold",
    [
        Panel(
            "Tokens",
            "Tokens in committed steps, padding apart.",
            "si:tok/s",
            [Query(_TOKENS, "tokens")],
        ),
        Panel(
            "Tokens per step",
            "Mean tokens of a committed step.",
            "short",
            [Query(f"{_TOKENS} / {_STEPS}", "tokens per step")],
        ),
        Panel(
            "Fill of full steps",
            "Tokens of a full step over those of a global batch, and their "
            "coefficient of variation.",
            "percentunit",
            [*quantiles(_FILL, 0.05, 0.5, 0.95), Query(_FILL_CV, "CV")],
        ),
        Panel(
            "Share of long documents",
            "Share of tokens in documents of a quarter window or more: of all tokens, "
            "and of single full steps.",
            "percentunit",
            [
                Query(_LONG_SHARE, "all tokens"),
                *quantiles("evenpack_job_step_long_document_ratio", 0.05, 0.95),
            ],
        ),
        Panel(
            "Padding",
            "Padding tokens over all tokens that trainers compute.",
            "percentunit",
            [Query(f"{_PADDING} / ({_PADDING} + {_TOKENS})", "padding")],
        ),
        Panel(
            "Documents",
            "Documents that were accepted, and that came out in committed steps.",
            "cps",
            [
                Query(rate("evenpack_job_documents_accepted_total"), "accepted"),
                Query(rate("evenpack_job_documents_emitted_total"), "in steps"),
            ],
        ),
    ],
)

_DELAY = Row(
    "Delay",
    [
        Panel(
            "Delay of documents",
            "How many documents came out how many global batches after their own.",
            "none",
            [Query(rate("evenpack_job_document_delay_batches_bucket", "le"), "{{le}}")],
            kind="heatmap",
        ),
        Panel(
            "Delay, mean and late ones",
            "Global batches admitted after a document's own before it came out.",
            "none",
            [
                Query(mean("evenpack_job_document_delay_batches"), "mean"),
                *quantiles("evenpack_job_document_delay_batches", 0.99, 0.999),
            ],
        ),
        Panel(
            "Tokens that wait",
            "Tokens admitted that no step has: left over, and in the delay queues.",
            "short",
            [
                Query(f"sum({of_job('evenpack_job_left_over_tokens')})", "left over"),
                Query(
                    f"sum by (queue) ({of_job('evenpack_job_queue_tokens')})",
                    "queue {{queue}}",
                ),
                Query(_WAITING, "all"),
            ],
        ),
        Panel(
            "Documents that wait",
            "Documents admitted that no step has. Jobs whose policy has no queues have "
            "only what is left over.",
            "short",
            [
                Query(
                    f"sum({of_job('evenpack_job_left_over_documents')})", "left over"
                ),
                Query(
                    f"sum by (queue) ({of_job('evenpack_job_queue_documents')})",
                    "queue {{queue}}",
                ),
            ],
            width=12,
        ),
        Panel(
            "Oldest outlier",
            "Global batches admitted since that of the oldest document of each queue, "
            "and of those left over.",
            "none",
            [
                Query(
                    f"max({of_job('evenpack_job_left_over_oldest_batches')})",
                    "left over",
                ),
                Query(
                    f"max by (queue) ({of_job('evenpack_job_queue_oldest_batches')})",
                    "queue {{queue}}",
                ),
            ],
            width=12,
        ),
    ],
)

_PROGRESS = Row(
    "Progress",
    [
        Panel(
            "Steps",
            "Steps decided, and steps that every DP rank reported durable.",
            "none",
            [
                Query(f"max({of_job('evenpack_job_next_step')})", "decided"),
                Query(f"max({of_job('evenpack_job_durable_steps')})", "durable"),
            ],
        ),
        Panel(
            "Steps by what they were formed from",
            "Steps committed: from a full batch, from what waited, at the stream's "
            "end.",
            "ops",
            [Query(rate("evenpack_job_steps_total", "kind"), "{{kind}}")],
            stacked=True,
        ),
        Panel(
            "Steps ready, and lag",
            "Steps decided that no subscriber has been sent, and that the slowest has "
            "not received.",
            "short",
            [
                Query(f"max({of_job('evenpack_job_ready_steps')})", "ready ahead"),
                Query(f"max({of_job('evenpack_job_max_lag_steps')})", "slowest's lag"),
            ],
        ),
        Panel(
            "Epoch",
            "How often the job was reconfigured.",
            "none",
            [Query(f"max({of_job('evenpack_job_epoch')})", "epoch")],
        ),
    ],
)

DASHBOARD = Dashboard(
    "evenpack-run-overview",
    "Evenpack / Run overview",
    "What packing makes of a job: balance before and after, what steps hold, delay, "
    "progress.",
    [_AT_A_GLANCE, _BALANCE, _HELD, _DELAY, _PROGRESS],
    [JOB],
)

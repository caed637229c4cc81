"""Where the time of a job's steps goes: the excess by its causes, and the late rank."""

from __future__ import annotations

from job_series import JOB, OVER_RANGE, RATE, mean, of_job, over_range, quantiles, rate
from panel_json import Dashboard, Panel, Query, Row

_PREDICTED_STEPS = rate("evenpack_job_predicted_steps_total")
_PREDICTED_EVEN = rate("evenpack_job_predicted_even_step_seconds_total")
_MEASURED_STEPS = rate("evenpack_job_measured_steps_total")
_MEASURED_EVEN = rate("evenpack_job_even_seconds_total")
_RANK = "dp_rank, cp_rank"

_CAUSES = {
    "packing": "packing: uneven micro-batches",
    "cp_sharding": "context parallelism: uneven slices",
    "pipeline": "pipeline: stages that idle",
    "communication": "communication",
    "machine": "hardware: slower than predicted",
}


def _predicted(cause: str) -> str:
    return rate("evenpack_job_predicted_excess_seconds_total", cause=cause)


def _measured(cause: str) -> str:
    return rate("evenpack_job_excess_seconds_total", cause=cause)


_GLANCE = Row(
    "Where the time goes",
    [
        Panel(
            "Excess by its causes",
            "Time beyond a perfectly even step, as a share of that step. Packing, "
            "context parallelism, pipeline and communication: of the whole step, "
            "predicted. Hardware: of attention, measured by workers, beyond what "
            "predictions explain; it is only there where workers report. "
            f"{OVER_RANGE}",
            "percentunit",
            [
                Query(
                    over_range(
                        f"{_measured(cause)} / {_MEASURED_EVEN}"
                        if cause == "machine"
                        else f"{_predicted(cause)} / {_PREDICTED_EVEN}"
                    ),
                    legend,
                )
                for cause, legend in _CAUSES.items()
            ],
            kind="bargauge",
            width=12,
            warning=0.05,
            critical=0.2,
        ),
        Panel(
            "Straggling ranks",
            "The ranks that were most often the latest within the last measured "
            "steps: the share of the steps, and by how long on average, of a layer's "
            "attention. One that is named in most steps is a straggler: look at its "
            "machine.",
            "percentunit",
            [
                Query(
                    f"sum by ({_RANK}) ({of_job('evenpack_job_late_rank_steps')})"
                    f" / ignoring ({_RANK}) group_left ()"
                    f" sum({of_job('evenpack_job_late_window_steps')})",
                    "latest in",
                ),
                Query(
                    f"max by ({_RANK}) ({of_job('evenpack_job_late_rank_seconds')})",
                    "late by",
                ),
            ],
            kind="table",
            width=12,
            columns=[("dp_rank", "DP rank"), ("cp_rank", "CP rank")],
            column_units=[("late by", "s")],
        ),
    ],
)

_PREDICTED = Row(
    "The whole step, predicted",
    [
        Panel(
            "Step by its parts",
            "Predicted time of a step on the cluster that the job's cost model names: "
            "an even step, and what is beyond it by cause. Not there where the cost "
            "model names no model and hardware.",
            "s",
            [
                Query(f"{_PREDICTED_EVEN} / {_PREDICTED_STEPS}", "even step"),
                *(
                    Query(f"{_predicted(cause)} / {_PREDICTED_STEPS}", _CAUSES[cause])
                    for cause in _CAUSES
                    if cause != "machine"
                ),
            ],
            width=12,
            stacked=True,
        ),
        Panel(
            "Excess over an even step",
            "The same beyond an even step, as a share of it.",
            "percentunit",
            [
                Query(f"{_predicted(cause)} / {_PREDICTED_EVEN}", _CAUSES[cause])
                for cause in _CAUSES
                if cause != "machine"
            ],
            width=12,
            stacked=True,
        ),
    ],
)

_MEASURED = Row(
    "Attention of a layer, as workers measured it",
    [
        Panel(
            "Attention by its parts",
            "Time of a layer's attention in a step: were all ranks equal, and beyond "
            "that by cause. The pipeline has no part in a layer's attention.",
            "s",
            [
                Query(f"{_MEASURED_EVEN} / {_MEASURED_STEPS}", "even"),
                *(
                    Query(f"{_measured(cause)} / {_MEASURED_STEPS}", _CAUSES[cause])
                    for cause in _CAUSES
                    if cause != "pipeline"
                ),
            ],
            stacked=True,
        ),
        Panel(
            "Excess over even attention",
            "The same beyond even attention, as a share of it.",
            "percentunit",
            [
                Query(f"{_measured(cause)} / {_MEASURED_EVEN}", _CAUSES[cause])
                for cause in _CAUSES
                if cause != "pipeline"
            ],
            stacked=True,
        ),
        Panel(
            "Measured over predicted attention",
            "Of each rank and step, forward. A constant factor harms nothing; a "
            "spread is a prediction that misleads, or uneven machines.",
            "none",
            quantiles("evenpack_job_attention_over_predicted_ratio", 0.05, 0.5, 0.95),
        ),
        Panel(
            "Who is latest",
            "Share of the last measured steps in which the rank was later than all "
            "others, beyond its own prediction.",
            "percentunit",
            [
                Query(
                    f"sum by ({_RANK}) ({of_job('evenpack_job_late_rank_steps')})"
                    f" / ignoring ({_RANK}) group_left ()"
                    f" sum({of_job('evenpack_job_late_window_steps')})",
                    "DP {{dp_rank}}, CP {{cp_rank}}",
                )
            ],
        ),
        Panel(
            "How late",
            "Mean time that the rank was late in these steps, of a layer's attention.",
            "s",
            [
                Query(
                    f"max by ({_RANK}) ({of_job('evenpack_job_late_rank_seconds')})",
                    "DP {{dp_rank}}, CP {{cp_rank}}",
                )
            ],
        ),
        Panel(
            "Steps measured",
            "Steps of whose attention all ranks have reported, and all steps.",
            "ops",
            [
                Query(_MEASURED_STEPS, "measured"),
                Query(rate("evenpack_job_steps_total"), "decided"),
            ],
        ),
    ],
)


def _quotient(scale: str) -> str:
    attention = of_job("evenpack_job_cost_attention_scale", scale=scale)
    linear = of_job("evenpack_job_cost_linear_scale", scale=scale)
    return f"max({attention}) / max({linear})"


_SUBSCRIBERS = f"sum(max_over_time({of_job('evenpack_job_subscribers')}[{RATE}]))"

_TRAINERS = Row(
    "Trainers and the cost model",
    [
        Panel(
            "Share of time that trainers wait for steps",
            "As trainers report it once they have waited: seconds in a second, over "
            "all subscribers. Ranks that share a plan agent's are one among these, a "
            "sidecar is one more.",
            "percentunit",
            [
                Query(
                    f"{rate('evenpack_job_step_wait_seconds_total')} / {_SUBSCRIBERS}",
                    "waiting",
                )
            ],
        ),
        Panel(
            "Measured over predicted micro-batches",
            "Forward time of each micro-batch that trainers reported, over its "
            "prediction.",
            "none",
            [
                Query(mean("evenpack_job_measured_over_predicted_ratio"), "mean"),
                *quantiles(
                    "evenpack_job_measured_over_predicted_ratio", 0.05, 0.5, 0.95
                ),
            ],
        ),
        Panel(
            "Attention to the rest, measured over applied",
            "How far the cost model is off in what changes decisions: 1 is right. "
            "There from 32 reported micro-batches on.",
            "none",
            [
                Query(
                    f"({_quotient('measured')}) / ({_quotient('applied')})", "quotient"
                )
            ],
            least=None,
        ),
        Panel(
            "Scales of the cost model",
            "What attention and the rest are multiplied by: applied, measured, "
            "suggested.",
            "none",
            [
                Query(
                    f"max by (scale) ({of_job('evenpack_job_cost_attention_scale')})",
                    "attention, {{scale}}",
                ),
                Query(
                    f"max by (scale) ({of_job('evenpack_job_cost_linear_scale')})",
                    "rest, {{scale}}",
                ),
            ],
            width=12,
        ),
        Panel(
            "Calibration",
            "Micro-batches that the scales are fitted to, whether they tell the two "
            "scales apart (1), and how often the job set its scales.",
            "short",
            [
                Query(
                    f"max({of_job('evenpack_job_cost_observations')})", "observations"
                ),
                Query(
                    f"max({of_job('evenpack_job_cost_scales_separable')})", "separable"
                ),
                Query(
                    f"max({of_job('evenpack_job_cost_calibrations_total')})",
                    "calibrations",
                ),
            ],
            width=12,
        ),
    ],
)

DASHBOARD = Dashboard(
    "evenpack-step-time",
    "Evenpack / Where the step time goes",
    "What a job's steps take beyond even ones, by cause, and which rank is late.",
    [_GLANCE, _PREDICTED, _MEASURED, _TRAINERS],
    [JOB],
)

"""Context-parallel sharding, the groups of ranks, and the workers that execute them."""

from __future__ import annotations

from job_series import JOB, RATE, imbalance_quantiles, mean, of_job, rate
from panel_json import Dashboard, Panel, Query, Row

_IMBALANCE = "evenpack_job_context_parallel_imbalance"
_RANK = "dp_rank, cp_rank"
_NAMED = "DP {{dp_rank}}, CP {{cp_rank}}"


def _of_workers(expr: str, keep: str = _RANK) -> str:
    """An expression by worker, of those with a session of the job, by rank.

    A worker's own series have no label of the job; its session's has.
    """
    session = of_job("evenpack_worker_session_info")
    return (
        f"sum by ({keep}) ({expr} * on (instance) group_left (dp_rank, cp_rank)"
        f" {session})"
    )


def _rate_of_workers(metric: str) -> str:
    return _of_workers(f"rate({metric}[{RATE}])")


def _seconds_per_step(metric: str) -> str:
    steps = _rate_of_workers("evenpack_worker_steps_total")
    return f"{_rate_of_workers(metric)} / {steps}"


_SHARDING = Row(
    "Sharding",
    [
        Panel(
            "Micro-batches by their sharding",
            "How micro-batches are cut over the ranks of their context-parallel "
            "group, as a share of all.",
            "percentunit",
            [
                Query(
                    f"{rate('evenpack_job_micro_batches_total', 'sharding')}"
                    " / ignoring (sharding) group_left ()"
                    f" {rate('evenpack_job_micro_batches_total')}",
                    "{{sharding}}",
                )
            ],
            stacked=True,
        ),
        Panel(
            "Imbalance within a group",
            "Most loaded over mean CP rank of each micro-batch, by attended pairs: 1 "
            "is perfect.",
            "none",
            [
                Query(mean(_IMBALANCE), "mean"),
                *imbalance_quantiles(_IMBALANCE, 0.5, 0.99),
            ],
            least=1,
        ),
        Panel(
            "Groups",
            "Context-parallel groups of which a rank is connected to the server, and "
            "those of which all ranks are connected to each other.",
            "none",
            [
                Query(f"sum({of_job('evenpack_job_groups')})", "groups"),
                Query(f"sum({of_job('evenpack_job_groups_standing')})", "standing"),
                Query(f"sum({of_job('evenpack_job_group_members')})", "ranks"),
            ],
        ),
    ],
)

_EXECUTION = Row(
    "Workers: what they execute",
    [
        Panel(
            "Steps",
            "Steps that each rank's worker executed. Ranks of a group go together.",
            "ops",
            [Query(_rate_of_workers("evenpack_worker_steps_total"), _NAMED)],
        ),
        Panel(
            "Micro-batches",
            "Micro-batches that each rank's worker executed.",
            "ops",
            [Query(_rate_of_workers("evenpack_worker_micro_batches_total"), _NAMED)],
        ),
        Panel(
            "Steps prepared ahead",
            "Steps that a rank has received and prepared: at 0 it waits for the "
            "server.",
            "none",
            [Query(_of_workers("evenpack_worker_prepared_steps"), _NAMED)],
        ),
        Panel(
            "Forward time of a step",
            "Attention computed in forward passes, for each step.",
            "s",
            [Query(_seconds_per_step("evenpack_worker_forward_seconds_total"), _NAMED)],
        ),
        Panel(
            "Backward time of a step",
            "Attention computed in backward passes, for each step.",
            "s",
            [
                Query(
                    _seconds_per_step("evenpack_worker_backward_seconds_total"), _NAMED
                )
            ],
        ),
        Panel(
            "Time waited for peers in a step",
            "Waits that computing did not hide. A rank that waits least is the one "
            "that others wait for.",
            "s",
            [Query(_seconds_per_step("evenpack_worker_waited_seconds_total"), _NAMED)],
        ),
    ],
)

_GROUP = Row(
    "Workers: their groups",
    [
        Panel(
            "Connected to the group",
            "1 while a rank is connected to all other ranks of its group.",
            "none",
            [Query(_of_workers("evenpack_worker_group_connected"), _NAMED)],
        ),
        Panel(
            "Epoch of the group",
            "How often the group was formed. Ranks of a group show the same.",
            "none",
            [Query(_of_workers("evenpack_worker_group_epoch"), _NAMED)],
        ),
        Panel(
            "Groups lost",
            "How often a rank lost its group within the hour: each time the step is "
            "done again.",
            "none",
            [
                Query(
                    _of_workers("increase(evenpack_worker_group_losses_total[1h])"),
                    _NAMED,
                )
            ],
        ),
    ],
)

_PROCESSES = Row(
    "Workers: their processes",
    [
        Panel(
            "Memory of the arena",
            "Share of --memory that the trainer's arena takes; passes have the rest.",
            "percentunit",
            [
                Query(
                    _of_workers(
                        "evenpack_worker_memory_used_bytes"
                        " / evenpack_worker_memory_limit_bytes"
                    ),
                    _NAMED,
                )
            ],
        ),
        Panel(
            "Resident memory",
            "Memory of the worker's process, its arena's pages included.",
            "bytes",
            [
                Query(
                    _of_workers('process_resident_memory_bytes{job="evenpack-worker"}'),
                    _NAMED,
                )
            ],
        ),
        Panel(
            "Processors",
            "Processors that the worker's process keeps busy.",
            "none",
            [
                Query(
                    _of_workers(
                        f'rate(process_cpu_seconds_total{{job="evenpack-worker"}}[{RATE}])'
                    ),
                    _NAMED,
                )
            ],
        ),
        Panel(
            "Which worker has which rank",
            "The workers with a session of the job: 1 where connected to the group.",
            "none",
            [
                Query(
                    _of_workers(
                        "evenpack_worker_group_connected", f"instance, {_RANK}"
                    ),
                    "connected",
                )
            ],
            kind="table",
            width=12,
            columns=[
                ("instance", "Worker"),
                ("dp_rank", "DP rank"),
                ("cp_rank", "CP rank"),
            ],
        ),
        Panel(
            "Workers by version",
            "Workers that Prometheus scrapes, of all jobs.",
            "none",
            [Query("count by (version) (evenpack_worker_build_info)", "{{version}}")],
            width=12,
        ),
    ],
)

_AGENTS = Row(
    "Plan agents of all jobs",
    [
        Panel(
            "Plan agents' subscriptions",
            "Subscriptions at the server, those of them whose call stands, and the "
            "ranks' subscriptions that share them.",
            "none",
            [
                Query("sum(evenpack_agent_upstream_subscriptions)", "at the server"),
                Query("sum(evenpack_agent_upstream_connected)", "connected"),
                Query("sum(evenpack_agent_local_subscribers)", "of ranks"),
            ],
        ),
        Panel(
            "Plan agents that lack a connection",
            "Subscriptions at the server whose call does not stand, of the ten agents "
            "that have most.",
            "none",
            [
                Query(
                    "topk(10, sum by (instance) (evenpack_agent_upstream_subscriptions"
                    " - evenpack_agent_upstream_connected))",
                    "{{instance}}",
                )
            ],
        ),
        Panel(
            "Steps held by plan agents",
            "Steps kept until all ranks have received them, of the ten agents that "
            "hold most: many are those of a rank that lags.",
            "short",
            [
                Query(
                    "topk(10, sum by (instance) (evenpack_agent_held_steps))",
                    "{{instance}}",
                )
            ],
        ),
    ],
)

DASHBOARD = Dashboard(
    "evenpack-workers",
    "Evenpack / CP sharding and workers",
    "How micro-batches are cut over context-parallel groups, and the workers that "
    "execute them.",
    [_SHARDING, _EXECUTION, _GROUP, _PROCESSES, _AGENTS],
    [JOB],
)

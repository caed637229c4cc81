"""Whether the server does its work: process, calls, latencies, both ends of a job."""

from __future__ import annotations

from collections.abc import Sequence

from job_series import JOB, RATE, of_job, quantile, rate
from panel_json import Dashboard, Panel, Query, Row
from server_series import INSTANCE, of_server, process, server_rate


def _by_stream(metric: str) -> str:
    return f"sum by (stream) ({of_job(metric)})"


def _latency(title: str, description: str, histogram: str) -> Panel:
    queries = [
        Query(quantile(each, histogram), f"p{each * 100:g}")
        for each in (0.5, 0.9, 0.99)
    ]
    return Panel(title, description, "s", queries)


def _count(title: str, description: str, unit: str, queries: Sequence[Query]) -> Panel:
    # A version is in the name alone.
    named = title == "Version"
    return Panel(
        title, description, unit, queries, kind="stat", width=6, height=4, named=named
    )


_SERVER = Row(
    "Server",
    [
        _count(
            "Servers up",
            "Servers that answered the last scrape.",
            "none",
            [Query('sum(up{job="evenpack-server",instance=~"$instance"})', "up")],
        ),
        _count(
            "Up since",
            "Time since the server that started last did.",
            "s",
            [
                Query(
                    f"time() - max({process('process_start_time_seconds')})",
                    "uptime",
                )
            ],
        ),
        _count(
            "Jobs",
            "Jobs that exist, those that /metrics leaves out since there are too many, "
            "and those of the store that are damaged.",
            "none",
            [
                Query(f"sum({of_server('evenpack_jobs')})", "jobs"),
                Query(f"sum({of_server('evenpack_jobs_left_out')})", "left out"),
                Query(f"sum({of_server('evenpack_broken_jobs')})", "damaged"),
            ],
        ),
        _count(
            "Version",
            "Servers by the version that they run.",
            "none",
            [
                Query(
                    f"count by (version) ({of_server('evenpack_build_info')})",
                    "{{version}}",
                )
            ],
        ),
        Panel(
            "Open calls",
            "Calls that are open: producers, subscribers, ranks of groups.",
            "none",
            [
                Query(f"sum({of_server('evenpack_ingest_streams')})", "Ingest"),
                Query(f"sum({of_server('evenpack_step_streams')})", "StreamSteps"),
                Query(f"sum({of_server('evenpack_group_streams')})", "JoinGroup"),
            ],
        ),
        Panel(
            "Calls opened",
            "Many at a steady number of open ones are clients that reconnect.",
            "ops",
            [
                Query(server_rate("evenpack_ingest_streams_opened_total"), "Ingest"),
                Query(server_rate("evenpack_step_streams_opened_total"), "StreamSteps"),
                Query(server_rate("evenpack_group_streams_opened_total"), "JoinGroup"),
            ],
        ),
        Panel(
            "Errors",
            "Calls and streams that ended with an error, by status code.",
            "ops",
            [Query(server_rate("evenpack_errors_total", "code"), "{{code}}")],
        ),
        Panel(
            "Processors",
            "Processors that the process keeps busy.",
            "none",
            [
                Query(
                    "sum by (instance) (rate("
                    f"{process('process_cpu_seconds_total')}[{RATE}]))",
                    "{{instance}}",
                )
            ],
        ),
        Panel(
            "Resident memory",
            "Memory of the process.",
            "bytes",
            [
                Query(
                    f"sum by (instance) ({process('process_resident_memory_bytes')})",
                    "{{instance}}",
                )
            ],
        ),
        Panel(
            "File descriptors",
            "Share of those that the process may open. A client takes one.",
            "percentunit",
            [
                Query(
                    f"sum by (instance) ({process('process_open_fds')})"
                    f" / sum by (instance) ({process('process_max_fds')})",
                    "{{instance}}",
                )
            ],
        ),
    ],
)

_AMONG_SERVERS = Row(
    "Several servers, and who may call",
    [
        Panel(
            "Jobs by server",
            "Jobs that each server leads.",
            "none",
            [
                Query(
                    f"sum by (instance) ({of_server('evenpack_jobs')})", "{{instance}}"
                )
            ],
            width=12,
        ),
        Panel(
            "Jobs that moved",
            "Jobs taken by a server, handed over by it, or lost to another that took "
            "it for dead.",
            "ops",
            [Query(server_rate("evenpack_jobs_moved_total", "how"), "{{how}}")],
            width=12,
        ),
        Panel(
            "Calls that found no leader",
            "Calls about a job that no server led just then: a few at a move.",
            "ops",
            [Query(server_rate("evenpack_leaderless_answers_total"), "calls")],
            width=12,
        ),
        Panel(
            "Calls denied",
            "Calls and streams refused for who made them, by the reason told.",
            "ops",
            [Query(server_rate("evenpack_denied_calls_total", "reason"), "{{reason}}")],
            width=12,
        ),
    ],
)

_LATENCIES = Row(
    "Latencies of job $job",
    [
        _latency(
            "Deciding a step", "Time to decide a step.", "evenpack_job_decide_seconds"
        ),
        _latency(
            "Committing",
            "Time to commit a job's events.",
            "evenpack_job_commit_seconds",
        ),
        _latency(
            "Delivering",
            "Time to hand a step to a subscriber's transport, once it was decided "
            "and asked for.",
            "evenpack_job_delivery_seconds",
        ),
    ],
)

_PRODUCERS = Row(
    "Producers of job $job",
    [
        Panel(
            "Documents accepted",
            "Documents accepted, by stream.",
            "cps",
            [
                Query(
                    rate("evenpack_job_documents_accepted_total", "stream"),
                    "{{stream}}",
                )
            ],
        ),
        Panel(
            "Tokens accepted",
            "Tokens of the documents accepted, by stream.",
            "si:tok/s",
            [Query(rate("evenpack_job_tokens_accepted_total", "stream"), "{{stream}}")],
        ),
        Panel(
            "Buffered tokens",
            "Tokens accepted that no step has admitted. Where one stream is empty and "
            "another full, the empty one holds up the job.",
            "short",
            [Query(_by_stream("evenpack_job_buffered_tokens"), "{{stream}}")],
        ),
        Panel(
            "Buffered documents",
            "Documents accepted that no step has admitted.",
            "short",
            [Query(_by_stream("evenpack_job_buffered_documents"), "{{stream}}")],
        ),
        Panel(
            "Memory of buffered documents",
            "Memory of the documents that no step has admitted.",
            "bytes",
            [Query(_by_stream("evenpack_job_buffered_bytes"), "{{stream}}")],
        ),
        Panel(
            "Producers",
            "Producers that are connected.",
            "none",
            [Query(f"sum({of_job('evenpack_job_producers')})", "producers")],
            width=12,
        ),
        Panel(
            "Streams that are full or have ended",
            "1 while the stream is full and its producers are not read from, or once "
            "it has ended.",
            "none",
            [
                Query(_by_stream("evenpack_job_stream_full"), "{{stream}}, full"),
                Query(_by_stream("evenpack_job_stream_ended"), "{{stream}}, ended"),
            ],
            width=12,
        ),
    ],
)

_SUBSCRIBERS = Row(
    "Subscribers of job $job",
    [
        Panel(
            "Subscribers",
            "Subscribers that are connected.",
            "none",
            [Query(f"sum({of_job('evenpack_job_subscribers')})", "subscribers")],
            width=12,
        ),
        Panel(
            "Lag",
            "Steps decided that subscribers have not received: the slowest, the mean, "
            "the fastest, and those that none has been sent. One that asks for none "
            "lags without the server being late.",
            "short",
            [
                Query(f"max({of_job('evenpack_job_max_lag_steps')})", "slowest"),
                Query(
                    f"sum({of_job('evenpack_job_lag_steps')})"
                    f" / sum({of_job('evenpack_job_subscribers')})",
                    "mean",
                ),
                Query(f"min({of_job('evenpack_job_min_lag_steps')})", "fastest"),
                Query(f"max({of_job('evenpack_job_ready_steps')})", "sent to none"),
            ],
            width=12,
        ),
        Panel(
            "Steps asked for",
            "Steps that subscribers have asked for and not been sent. Trainers ask for "
            "as many ahead as they have room for: above 0 is not yet waiting.",
            "short",
            [Query(f"sum({of_job('evenpack_job_unused_credits')})", "credits")],
            width=12,
        ),
        Panel(
            "Steps taken",
            "Steps that trainers took in a second, over all of them, as they reported "
            "it: 0 is one that stands, or reports nothing.",
            "ops",
            [Query(rate("evenpack_job_steps_taken_total"), "taken")],
            width=12,
        ),
    ],
)

DASHBOARD = Dashboard(
    "evenpack-service-health",
    "Evenpack / Service health",
    "The servers' processes, calls and moves, latencies, producers and subscribers.",
    [_SERVER, _AMONG_SERVERS, _LATENCIES, _PRODUCERS, _SUBSCRIBERS],
    [INSTANCE, JOB],
)

"""What the server commits to its store, how long that takes, and what it keeps."""

from __future__ import annotations

from job_series import RATE
from panel_json import Dashboard, Panel, Query, Row
from server_series import INSTANCE, of_server, server_rate

_COMMITS = server_rate("evenpack_store_commits_total")


def _commit_quantile(of: float, by: str = "") -> str:
    kept = ", ".join(filter(None, ["le", by]))
    buckets = f"rate({of_server('evenpack_job_commit_seconds_bucket')}[{RATE}])"
    return f"histogram_quantile({of}, sum by ({kept}) ({buckets}))"


def _most(metric: str) -> list[Query]:
    expr = f"topk(10, sum by (job) ({of_server(metric)}))"
    return [Query(expr, "{{job}}")]


_COMMITTING = Row(
    "Commits",
    [
        Panel(
            "Commits",
            "Transactions that the store committed, and failed to commit. While they "
            "fail, nothing is accepted or decided.",
            "ops",
            [
                Query(_COMMITS, "committed"),
                Query(server_rate("evenpack_store_commit_failures_total"), "failed"),
            ],
        ),
        Panel(
            "Time of commits",
            "Time to commit a job's events, over all jobs.",
            "s",
            [Query(_commit_quantile(each), f"p{each * 100:g}") for each in (0.5, 0.99)],
        ),
        Panel(
            "Store away",
            "1 while the server does not reach its database, or its last commit, "
            "within ten minutes, failed.",
            "none",
            [
                Query(
                    f"max by (instance) ({of_server('evenpack_store_away')})",
                    "{{instance}}",
                )
            ],
            warning=1,
            critical=1,
        ),
        Panel(
            "Commit under way",
            "How long the commit that is under way has taken so far. One that grows "
            "waits for a disk that hangs, of which no failure tells; a database is "
            "given up sooner.",
            "s",
            [
                Query(
                    "max by (instance) "
                    f"({of_server('evenpack_store_commit_age_seconds')})",
                    "{{instance}}",
                )
            ],
            warning=1,
            critical=10,
        ),
        Panel(
            "Slowest commits by job",
            "99th percentile of the time to commit, of the ten jobs that wait longest.",
            "s",
            [Query(f"topk(10, {_commit_quantile(0.99, 'job')})", "{{job}}")],
        ),
        Panel(
            "Records per commit",
            "While one commit is flushed the next gathers: more under load.",
            "none",
            [
                Query(
                    f"{server_rate('evenpack_store_records_total')} / {_COMMITS}",
                    "records",
                )
            ],
        ),
        Panel(
            "Bytes written",
            "Bytes of the records that the store committed.",
            "Bps",
            [Query(server_rate("evenpack_store_written_bytes_total"), "written")],
        ),
        Panel(
            "Failed commits within the hour",
            "Above 0: the disk is full or broken.",
            "none",
            [
                Query(
                    "sum by (instance) (increase("
                    f"{of_server('evenpack_store_commit_failures_total')}[1h]))",
                    "{{instance}}",
                )
            ],
            warning=1,
            critical=1,
        ),
    ],
)

_KEPT = Row(
    "What is kept",
    [
        Panel(
            "Size of the store",
            "The store's file and its log; 0 in memory.",
            "bytes",
            [
                Query(
                    f"sum by (instance) ({of_server('evenpack_store_size_bytes')})",
                    "{{instance}}",
                )
            ],
        ),
        Panel(
            "Steps kept",
            "Steps that can still be asked for, of the ten jobs with most: one that "
            "grows marks no step durable.",
            "short",
            _most("evenpack_job_kept_steps"),
        ),
        Panel(
            "Token ids kept",
            "Token ids held, of the ten jobs with most. Only jobs whose payload "
            "travels by value hold any.",
            "bytes",
            _most("evenpack_job_payload_bytes"),
        ),
    ],
)

DASHBOARD = Dashboard(
    "evenpack-store",
    "Evenpack / Store",
    "What is committed, how long it takes, what is kept.",
    [_COMMITTING, _KEPT],
    [INSTANCE],
)

"""The tables of docs/balance.md, from the figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from length_families import FAMILIES, WINDOW
from threshold_grid import PRICES

Json = dict[str, Any]
DEFAULT_PRICE = 0.1
# Below it waits grow and little is gained.
LEAST_PRICE = 0.0125


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; all but the first column to the right."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(share: float) -> str:
    """Two digits behind the point below 10%, one above."""
    return f"{100 * share:.2f}%" if share < 0.1 else f"{100 * share:.1f}%"


def at_delay(run: Json | None) -> str:
    """Excess over all steps but the drain, and the mean token delay."""
    if run is None:
        return "none"
    return f"{percent(run['excess_all'])} at {run['delay']:.2f}"


def reaches_target(run: Json | None, other: Json, measure: str) -> bool:
    """At most half of the other's excess, at no more delay."""
    if run is None:
        return False
    halved: bool = run[measure] <= other[measure] / 2
    return halved and run["delay"] <= other["delay"]


def _widths(max_length: int) -> str:
    return f"{max_length / WINDOW:g}"


def _rows_of(results: Json, max_length: int) -> list[list[str]]:
    rows = []
    for family in FAMILIES:
        if family.name == "constant":
            continue
        row = [family.name]
        for cell in results["thresholds"]:
            if (cell["family"], cell["max_length"]) != (family.name, max_length):
                continue
            found = cell["by_excess_all"]
            runs = (cell["balanced"], found["wlb"], found["wlb_as_soon"])
            row += [at_delay(run) for run in runs]
        rows.append(row)
    return rows


def _thresholds(max_length: int) -> Callable[[Json], str]:
    header = ["stream"]
    for count in ("4", "16", "64"):
        header += [f"N = {count}: balanced", "wlb, best", "wlb as soon"]
    return lambda results: table(header, _rows_of(results, max_length))


def targets(results: Json) -> str:
    """In how many cases the target is reached, by measure and opponent."""
    rows = []
    cells = [cell for cell in results["thresholds"] if cell["family"] != "constant"]
    for measure, words in (
        ("excess_all", "all steps but the drain"),
        ("excess", "full steps, warm-up left out"),
        ("excess_run", "all steps, the drain's too"),
    ):
        default = tuned = soon = least = 0
        for cell in cells:
            found = cell[f"by_{measure}"]
            other, late = found["wlb"], found["balanced_as_late"]
            default += reaches_target(cell["balanced"], other, measure)
            tuned += reaches_target(late, other, measure)
            least += late is not None and late[measure] <= other[measure]
            as_soon = found["wlb_as_soon"]
            soon += as_soon is None or reaches_target(
                {**cell["balanced"], "delay": as_soon["delay"]}, as_soon, measure
            )
        of = f" of {len(cells)}"
        counts = (default, tuned, least, soon)
        rows.append([words, *(f"{count}{of}" for count in counts)])
    header = [
        "measured over",
        "default: half, no later",
        "price chosen: half, no later",
        "price chosen: no more, no later",
        "default: half of wlb as soon",
    ]
    return table(header, rows)


def misses(results: Json) -> str:
    """Where the default price does not reach the target."""
    rows = []
    for cell in results["thresholds"]:
        found = cell["by_excess_all"]
        default, other = cell["balanced"], found["wlb"]
        if cell["family"] == "constant":
            continue
        if reaches_target(default, other, "excess_all"):
            continue
        late = found["balanced_as_late"]
        price = f"{late['setting'][0]:g}: {at_delay(late)}" if late else "none"
        reached = reaches_target(late, other, "excess_all")
        rows.append(
            [
                cell["family"],
                str(cell["micro_batches"]),
                _widths(cell["max_length"]),
                at_delay(default),
                at_delay(other),
                price,
                "yes" if reached else "no",
            ]
        )
    header = [
        "stream",
        "N",
        "S_max / L",
        "balanced",
        "wlb, best",
        "price chosen",
        "reached",
    ]
    return table(header, rows)


def _waits(cell: Json) -> list[str]:
    run, batch = cell["balanced"], cell["micro_batches"] * WINDOW
    ends = (run["tokens_least"], run["tokens_most"])
    return [
        str(run["longest_delay"]),
        f"{run['full_steps']}, {run['backlog_steps']}, {run['drain_steps']}",
        " to ".join(f"{tokens / batch:.2f}" for tokens in ends),
    ]


def hostile(results: Json) -> str:
    """Waits and step sizes of the default at S_max 1.5 L, N = 4 and 64."""
    rows = []
    for name in ("bimodal", "sorted", "by source", "switch", "50K to 70K", "bursts"):
        cells = [
            cell
            for cell in results["thresholds"]
            if (cell["family"], cell["max_length"]) == (name, WINDOW * 3 // 2)
            and cell["micro_batches"] != 16
        ]
        rows.append([name, *(figure for cell in cells for figure in _waits(cell))])
    columns = ("longest wait", "full, backlog, drain", "tokens / N x L")
    return table(["stream", *(f"N = 4: {c}" for c in columns), *columns], rows)


def long_shares(results: Json) -> str:
    """Share of long documents in a step, beside the stream's; N = 4 and 64."""
    rows = []
    for of in results["frontiers"]:
        if of["micro_batches"] == 16:
            continue
        for name, trials in of["curves"].items():
            balanced = name.startswith("balanced")
            wanted = [t for t in trials if t["setting"] == [DEFAULT_PRICE]]
            trial = (
                wanted[0]
                if balanced
                else min(trials, key=lambda t: float(t["excess_all"]))
            )
            shares = trial["long_share"]
            rows.append(
                [
                    name,
                    str(of["micro_batches"]),
                    *(percent(share) for share in shares),
                    at_delay(trial),
                    f"{trial['tokens_cv']:.3f}",
                ]
            )
    header = ["", "N", "p5", "p50", "p95", "stream", "excess", "CV of tokens"]
    return table(header, rows)


def prices(results: Json) -> str:
    """Excess and delay by the price of delay."""
    shown = [price for price in PRICES if price >= LEAST_PRICE]
    rows = []
    for of in results["frontiers"]:
        for name, trials in of["curves"].items():
            if not name.startswith("balanced"):
                continue
            row = [name, str(of["micro_batches"])]
            for price in shown:
                row += [at_delay(t) for t in trials if t["setting"] == [price]]
            rows.append(row)
    return table(["", "N", *(f"{price:g}" for price in shown)], rows)


def lone_documents(results: Json) -> str:
    """Why steps of long documents cannot be spread evenly."""
    rows = [
        [
            str(step["micro_batches"]),
            f"{step['longest']:,}",
            percent(step["share_longer"]),
            f"{step['degree_100k']:.2f}",
        ]
        for step in results["lone_documents"]["steps"]
    ]
    header = [
        "N",
        "longest that may stand alone",
        "tokens in longer ones",
        "degree with 100K",
    ]
    return table(header, rows)


def offline(results: Json) -> str:
    """Time over an even spread of all work: of `balanced`, of the reference."""
    rows = []
    for count in (4, 16):
        for delay in sorted({row["delay"] for row in results["offline"]}):
            of = [
                row
                for row in results["offline"]
                if (row["micro_batches"], row["delay"]) == (count, delay)
            ]
            excess = {
                name: [row[f"{name}_seconds"] / row["even_seconds"] - 1 for row in of]
                for name in ("balanced", "offline")
            }
            gaps = [row["balanced_seconds"] / row["offline_seconds"] - 1 for row in of]
            delays = [
                statistics.mean(row[f"{name}_delay"] for row in of)
                for name in ("balanced", "offline")
            ]
            rows.append(
                [
                    str(count),
                    str(delay),
                    percent(statistics.mean(row["undrained_excess"] for row in of)),
                    *(percent(statistics.mean(excess[name])) for name in excess),
                    percent(statistics.mean(gaps)),
                    f"{percent(min(gaps))} to {percent(max(gaps))}",
                    f"{delays[0]:.2f}, {delays[1]:.2f}",
                ]
            )
    header = [
        "N",
        "D",
        "excess without the drain",
        "balanced",
        "reference",
        "gap in time",
        "over seeds",
        "delay of both",
    ]
    return table(header, rows)


def short_bounds(results: Json) -> str:
    """Small bounds on delay."""
    rows = [
        [
            str(row["delay"]),
            at_delay(row["balanced"]),
            f"{row['balanced']['forward_seconds']:.1f} s",
            at_delay(row["wlb"]),
            f"{row['wlb']['forward_seconds']:.1f} s",
        ]
        for row in results["short_bounds"]
    ]
    return table(["D", "balanced", "all steps", "wlb, best", "all steps"], rows)


def robustness(results: Json) -> str:
    """With attention's cost wrong; each excess also as a share of that of `wlb`."""
    cells = results["robustness"]
    rows = []
    for cell in cells:
        other = cell["wlb"]
        row = [f"{1 + cell['error']:g}", str(cell["micro_batches"]), at_delay(other)]
        for run in cell["balanced"].values():
            ratio = run["excess_all"] / other["excess_all"]
            row.append(f"{at_delay(run)}: {ratio:.2f}")
        rows.append(row)
    header = ["attention / decided", "N", "wlb, best", *cells[0]["balanced"]]
    return table(header, rows)


def closed(seconds_of_wlb: float, seconds: float, bound: float) -> float:
    """The part of what lies between `wlb` and the bound that is saved."""
    return (seconds_of_wlb - seconds) / (seconds_of_wlb - bound)


def hybrid_closed(wlb: float, hybrid: float, bound_share: float) -> float:
    """From speedups: between `wlb` as published, and the hybrid steps' own bound."""
    return closed(1 / wlb, 1 / hybrid, bound_share / hybrid)


def simulated(results: Json) -> str:
    """The paper's configurations, and 405B."""
    adaptive = results["simulated"]["paper"]["adaptive"]
    hybrid = results["simulated"]["paper"]["hybrid"]
    rows = [
        [
            row["name"],
            f"{row['wlb_speedup']:.3f}",
            f"{row['chosen_speedup']:.3f}",
            f"{row['bound_speedup']:.3f}",
            percent(row["gap_closed"]),
            percent(row["chosen_bound_share"]),
            f"{mixed['hybrid_speedup']:.3f}",
            f"{mixed['chosen_speedup']:.3f}",
            percent(
                hybrid_closed(
                    row["wlb_speedup"],
                    mixed["chosen_speedup"],
                    mixed["chosen_bound_share"],
                )
            ),
            percent(mixed["chosen_bound_share"]),
        ]
        for row, mixed in zip(adaptive["configs"], hybrid["configs"], strict=True)
    ]
    large = results["simulated"]["large"]
    wlb, ours = large["wlb adaptive"], large["balanced adaptive"]
    wlb_mixed, ours_mixed = large["wlb hybrid"], large["balanced hybrid"]
    rows.append(
        [
            "405B-128K",
            *(
                f"{run[key]:.3f}"
                for run, key in (
                    (wlb, "speedup"),
                    (ours, "speedup"),
                    (wlb, "bound_speedup"),
                )
            ),
            percent(
                closed(wlb["step_seconds"], ours["step_seconds"], wlb["bound_seconds"])
            ),
            percent(ours["bound_share"]),
            f"{wlb_mixed['speedup']:.3f}",
            f"{ours_mixed['speedup']:.3f}",
            percent(
                hybrid_closed(
                    wlb["speedup"], ours_mixed["speedup"], ours_mixed["bound_share"]
                )
            ),
            percent(ours_mixed["bound_share"]),
        ]
    )
    header = [
        "",
        "wlb",
        "balanced",
        "bound",
        "gap closed",
        "of the bound",
        "hybrid: wlb",
        "balanced",
        "gap closed",
        "of its bound",
    ]
    return table(header, rows)


def ablation(results: Json) -> str:
    """Packed, by N."""
    rows = [
        [name, *(at_delay(run) for run in runs)]
        for name, runs in results["ablation"]["packed"].items()
    ]
    return table(["", "N = 4", "N = 16", "N = 64"], rows)


def simulated_ablation(results: Json) -> str:
    """Speedup over plain packing, and share of the bound."""
    rows = []
    for name, runs in results["ablation"]["simulated"].items():
        row = [name]
        for run in runs.values():
            row += [f"{run['speedup']:.3f}", percent(run["bound_share"])]
        rows.append(row)
    header = ["", "7B-128K", "of the bound", "405B-128K", "of the bound"]
    return table(header, rows)


def decision_times(results: Json) -> str:
    """Of FormStep's decision, the median."""
    rows = [
        [
            str(row["micro_batches"]),
            f"{1e6 * row['wlb']:.0f}",
            f"{1e6 * row['balanced']:.0f}",
            f"{row['balanced'] / row['wlb']:.1f}",
            f"{row['operations']:.0f}",
        ]
        for row in results["decision_times"]
    ]
    return table(["N", "wlb (us)", "balanced (us)", "ratio", "search operations"], rows)


TABLES: dict[str, Callable[[Json], str]] = {
    "targets": targets,
    "wide": _thresholds(WINDOW * 3 // 2),
    "narrow": _thresholds(WINDOW),
    "misses": misses,
    "prices": prices,
    "long_shares": long_shares,
    "lone_documents": lone_documents,
    "offline": offline,
    "short_bounds": short_bounds,
    "robustness": robustness,
    "simulated": simulated,
    "ablation": ablation,
    "simulated_ablation": simulated_ablation,
    "decision_times": decision_times,
    "hostile": hostile,
}

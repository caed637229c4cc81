"""The tables of docs/fidelity.md, from the results.

    tables.py RESULTS

RESULTS is what study.py wrote.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from comparison import (
    COMPARED_WITH,
    CONTROL,
    MARGIN,
    TESTED,
    Results,
    adjusted,
    difference,
    held_out,
    training_difference,
    verdict,
)
from equivalence import Paired, pairs_needed


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; all but the first column to the right."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _signed(value: float) -> str:
    return f"{value:+.2f}"


def _interval(found: Paired) -> str:
    return f"{_signed(found.low)} to {_signed(found.high)}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def text_table(results: Results) -> str:
    """What the text is."""
    corpus = results["corpus"]
    rows = [
        [kind, f"{of['documents']:,}", f"{of['tokens']:,}"]
        for kind, of in corpus["kinds"].items()
    ]
    rows.append(["all", f"{corpus['documents']:,}", f"{corpus['tokens']:,}"])
    held = f"{corpus['held_out_documents']:,}", f"{corpus['held_out_tokens']:,}"
    rows.append(["of these held out", *held])
    return table(["documents", "number", "tokens"], rows)


def length_table(results: Results) -> str:
    """How long documents are."""
    corpus = results["corpus"]
    quantiles = corpus["length_quantiles"]
    rows = [
        ["median", str(quantiles["0.5"])],
        ["mean", f"{corpus['mean_length']:.1f}"],
        ["nine in ten are shorter than", str(quantiles["0.9"])],
        ["99 in 100", str(quantiles["0.99"])],
    ]
    context = results["setting"]["shape"]["context"]
    for name, key in (
        (f"tokens in documents of {context * 3 // 8} or more", "long_share"),
        (f"of {context * 3 // 4} or more", "share_from_three_quarters"),
        (f"of {context:,}, many of which were cut there", "share_at_context"),
    ):
        rows.append([name, f"{100 * corpus[key]:.1f}%"])
    return table(["length in tokens", ""], rows)


def main_table(results: Results) -> str:
    """The comparison stated beforehand."""
    holm = adjusted(results)
    rows = []
    for arm, base in COMPARED_WITH.items():
        found = difference(results, arm)
        rows.append(
            [
                f"`{arm}`",
                f"`{base}`",
                f"{np.mean(held_out(results, arm)):.4f}",
                f"{np.mean(held_out(results, base)):.4f}",
                _signed(found.mean),
                f"{found.deviation:.2f}",
                _interval(found),
                _p(holm[arm] if arm in TESTED else found.p_equivalent),
                str(pairs_needed(found.deviation, MARGIN)),
                verdict(results, arm),
            ]
        )
    header = ["arm", "compared with", "loss", "its loss", "difference, %"]
    header += [
        "deviation over seeds",
        "90% interval",
        "p, equivalence",
        "seeds needed",
        "verdict",
    ]
    return table(header, rows)


def parts_table(results: Results) -> str:
    """Differences of training loss, and of the held-out loss by its parts."""
    context = results["setting"]["shape"]["context"]
    bounds = [0, context // 16, context // 4, context]
    parts = ["short", "long", *(f"position_{begin}" for begin in bounds[:-1])]
    rows = []
    for arm in COMPARED_WITH:
        found = [training_difference(results, arm)]
        found += [difference(results, arm, part) for part in parts]
        rows.append(
            [f"`{arm}`"] + [f"{_signed(f.mean)} ({_interval(f)})" for f in found]
        )
    header = ["arm", "training, all tokens", "short documents", "long documents"]
    header += [f"tokens {a:,} to {b - 1:,}" for a, b in pairwise(bounds)]
    return table(header, rows)


def _noise(results: Results, arm: str, kind: str) -> str:
    of_seeds = [seed[kind] for seed in results["arms"][arm]["noise"]]
    if not of_seeds:
        return ""
    return f"{np.median(of_seeds) / 1000:.1f}"


def steps_table(results: Results) -> str:
    """What steps hold, and how their gradients scatter."""
    rows = []
    for arm, found in results["arms"].items():
        steps = found["steps"]
        rows.append(
            [
                f"`{arm}`",
                f"{steps['steps']}",
                f"{steps['tokens_mean']:,.0f}",
                f"{100 * steps['tokens_variation']:.1f}%",
                f"{100 * steps['long_share_deviation']:.1f}%",
                f"{steps['displacement']:.2f}",
                *(
                    _noise(results, arm, kind)
                    for kind in ("within", "between", "between_eight")
                ),
            ]
        )
    header = ["arm", "steps", "tokens a step", "their variation"]
    header += ["deviation of the long share", "displacement, steps"]
    header += ["noise within steps", "between steps", "between eights"]
    return table(header, rows)


def power_line(results: Results) -> str:
    """One sentence on the positive control, as the page has it."""
    found = difference(results, CONTROL)
    word = "does" if found.p_above < 0.05 else "does not"
    return (
        f"The control's difference is {_signed(found.mean)}% ({_interval(found)}; "
        f"one-sided p {_p(found.p_above)}): its rise {word} show."
    )


def seconds_line(results: Results) -> str:
    """What the runs took."""
    taken = [s["seconds"] for arm in results["arms"].values() for s in arm["seeds"]]
    minutes = sum(taken) / 60
    return f"{len(taken)} runs, {minutes:.0f} minutes of one core in all"


def all_pieces(results: Results) -> list[str]:
    """Everything that the page has to contain."""
    makers = (text_table, length_table, main_table, parts_table, steps_table)
    lines = (power_line, seconds_line)
    return [make(results) for make in (*makers, *lines)]


def main() -> int:
    """Prints them."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    results = json.loads(Path(sys.argv[1]).read_text())
    print("\n\n".join(all_pieces(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

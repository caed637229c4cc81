"""What all runs come to: small enough to be kept, and all that is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from arms import arm_named, displacement
from numpy.typing import NDArray
from source_text import KINDS
from token_corpus import LONG_PART, TokenCorpus
from training import Stream

BINS = 40
_LENGTH_QUANTILES = (0.1, 0.5, 0.9, 0.99)


def _rounded(values: Sequence[float] | NDArray[np.float64]) -> list[float]:
    return [round(float(value), 4) for value in values]


def binned_losses(run: Mapping[str, Any], bins: int = BINS) -> list[float]:
    """Mean training loss of equal parts of all tokens.

    A step counts in a part by the tokens that it has there.
    """
    ends = np.cumsum(run["tokens"]).astype(np.float64)
    bounds = np.linspace(0.0, ends[-1], bins + 1)
    # Loss summed over tokens, as a function of tokens; between steps it is a line.
    sums = np.cumsum(np.array(run["losses"]) * run["tokens"])
    curve = np.interp(bounds, np.append(0.0, ends), np.append(0.0, sums))
    return _rounded(np.diff(curve) / np.diff(bounds))


def _step_figures(run: Mapping[str, Any]) -> dict[str, float]:
    tokens = np.array(run["tokens"], dtype=np.float64)
    share = np.array(run["long_tokens"]) / tokens
    return {
        "steps": len(tokens),
        "tokens_mean": round(float(tokens.mean()), 1),
        "tokens_variation": round(float(tokens.std() / tokens.mean()), 4),
        "long_share": round(float(np.sum(run["long_tokens"]) / tokens.sum()), 4),
        "long_share_deviation": round(float(share.std()), 4),
    }


def _seed_figures(run: Mapping[str, Any]) -> dict[str, Any]:
    tokens = np.array(run["tokens"], dtype=np.float64)
    return {
        "held_out": {name: round(value, 5) for name, value in run["final"].items()},
        "curve": [[round(part, 4), round(loss, 4)] for part, loss in run["held_out"]],
        "training": binned_losses(run),
        "training_mean": round(float(np.average(run["losses"], weights=tokens)), 5),
        "seconds": round(run["seconds"], 1),
    }


def _first_steps(run: Mapping[str, Any], steps: int = 96) -> dict[str, list[float]]:
    """Some steps one by one, from the middle of a run: what a step holds."""
    begin = max(0, len(run["tokens"]) // 2 - steps // 2)
    tokens = np.array(run["tokens"][begin : begin + steps])
    long = np.array(run["long_tokens"][begin : begin + steps])
    return {"tokens": tokens.tolist(), "long_share": _rounded(long / tokens)}


def corpus_figures(corpus: TokenCorpus, context: int) -> dict[str, Any]:
    """Counts, lengths and shares of the corpus."""
    lengths = corpus.lengths

    def tokens_from(length: float) -> float:
        return round(float(lengths[lengths >= length].sum() / lengths.sum()), 4)

    return {
        "documents": len(lengths),
        "tokens": int(lengths.sum()),
        "held_out_documents": int(corpus.held_out.sum()),
        "held_out_tokens": int(lengths[corpus.held_out].sum()),
        "kinds": {
            kind: {
                "documents": int((corpus.kinds == i).sum()),
                "tokens": int(lengths[corpus.kinds == i].sum()),
            }
            for i, kind in enumerate(KINDS)
        },
        "length_quantiles": {
            str(q): int(np.quantile(lengths, q)) for q in _LENGTH_QUANTILES
        },
        "mean_length": round(float(lengths.mean()), 1),
        "long_share": tokens_from(LONG_PART * context),
        "share_from_three_quarters": tokens_from(0.75 * context),
        "share_at_context": tokens_from(context),
    }


def summarize(
    corpus: TokenCorpus,
    stream_of: Callable[[int], Stream],
    setting: dict[str, Any],
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    noise: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The results of a study.

    Args:
        corpus: what was trained on.
        stream_of: the stream of a seed, the first of which is 1.
        setting: of all runs.
        runs: `training.Run` as a mapping, with `seconds`; by arm, a seed after another.
        noise: by arm; a seed after another.
    """
    first = stream_of(1)
    parameters = sum(p.numel() for p in first.setting.model(1).parameters())
    arms = {}
    for name, of_seeds in runs.items():
        steps = first.steps(arm_named(name))
        arms[name] = {
            "steps": _step_figures(of_seeds[0])
            | {"displacement": round(displacement(steps, first.lengths), 2)},
            "some_steps": _first_steps(of_seeds[0]),
            "seeds": [_seed_figures(run) for run in of_seeds],
            "noise": [
                {key: round(value, 1) for key, value in of_seed[name].items()}
                for of_seed in noise
                if name in of_seed
            ],
        }
    return {
        "setting": setting | {"parameters": parameters},
        "corpus": corpus_figures(corpus, first.setting.shape.context),
        "arms": arms,
    }

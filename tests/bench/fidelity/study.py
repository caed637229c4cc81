"""The study: every arm with every seed, one run after another; then the results.

    study.py DIRECTORY RESULTS [--text FOLDER] [--tokens N] [--seeds N]

FOLDER has the text (this Python's site-packages). DIRECTORY gets the corpus and a file
for each run; what is there already is not done again. RESULTS gets all that the page
and the figures show, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import site
import sys
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from time import process_time
from typing import Any

import torch
from arms import ARMS, BASELINE, Arm, Shape
from decoder import Decoder
from gradient_noise import noise_of
from source_text import read_documents
from summary import summarize
from token_corpus import TokenCorpus, tokenize
from training import HeldOut, Setting, Stream, train

SETTING = Setting(
    shape=Shape(context=1024, micro_batches=4, crossover=367),
    tokens=1_300_000,
    width=64,
    heads=2,
    layers=2,
    vocabulary=1024,
    peak_rate=1e-2,
    evaluations=4,
)
SEEDS = 5
# Gradient noise: at the baseline's model behind half of all tokens, over so many steps.
NOISE_BEGIN, NOISE_STEPS = 0.5, 48


def write(path: Path, value: object, indent: int | None = None) -> None:
    """JSON that is there whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=indent) + "\n")
    new.replace(path)


def read(path: Path) -> Any:  # noqa: ANN401 (JSON)
    """What `write` wrote."""
    return json.loads(path.read_text())


def open_corpus(directory: Path, setting: Setting, text: Path) -> TokenCorpus:
    """The corpus, made of the text below a folder where it isn't there yet."""
    path = directory / "corpus.npz"
    if not path.exists():
        documents = read_documents(text)
        corpus = tokenize(documents, setting.vocabulary, setting.shape.context)
        new = path.with_name("new.npz")
        corpus.save(new)
        new.replace(path)
    return TokenCorpus.load(path)


def check_setting(directory: Path, setting: Setting) -> None:
    """Notes the setting with the runs.

    Raises:
        ValueError: the runs that are there are of another.
    """
    path, wanted = directory / "setting.json", asdict(setting)
    if not path.exists():
        write(path, wanted)
    if (found := read(path)) != wanted:
        raise ValueError(
            f"directory: {directory} has runs of another setting, {found}; accepted: "
            "that one, or another folder"
        )


class Study:
    """Runs by arm and seed, kept in a folder."""

    def __init__(self, directory: Path, setting: Setting, text: Path) -> None:
        """Makes the corpus, or takes the one that is there.

        Raises:
            ValueError: the folder has runs of another setting.
        """
        directory.mkdir(parents=True, exist_ok=True)
        check_setting(directory, setting)
        self.directory = directory
        self.setting = setting
        self.corpus = open_corpus(directory, setting, text)
        self.held_out = HeldOut.of_corpus(self.corpus)

    def stream(self, seed: int) -> Stream:
        """The documents of a seed."""
        return Stream(self.corpus, self.setting, seed)

    def run(self, arm: Arm, seed: int, noise_steps: int) -> None:
        """Trains an arm with a seed, unless that was done.

        At the baseline's model behind NOISE_BEGIN of all tokens the gradient noise of
        all policies is taken.
        """
        path = self.directory / f"run-{arm.name}-{seed}.json"
        if path.exists():
            return
        halfway: list[Decoder] = []

        def watch(part: float, model: Decoder) -> None:
            if part >= NOISE_BEGIN and not halfway:
                halfway.append(deepcopy(model))

        started = process_time()
        run = train(self.stream(seed), arm, self.held_out, watch)
        seconds = process_time() - started
        if arm.name == BASELINE:
            self._noise(halfway[0], seed, noise_steps)
        write(path, asdict(run) | {"seconds": seconds})
        print(f"{arm.name} {seed}: {run.final['all']:.4f}, {seconds:.0f} s", flush=True)

    def _noise(self, model: Decoder, seed: int, steps: int) -> None:
        stream = self.stream(seed)
        found = {
            arm.name: asdict(noise_of(model, stream, arm, NOISE_BEGIN, steps))
            for arm in ARMS
            if arm.policy is not None or arm.name == BASELINE
        }
        write(self.directory / f"noise-{seed}.json", found)

    def results(self, seeds: int) -> dict[str, Any]:
        """What all runs come to."""
        runs = {
            arm.name: [
                read(self.directory / f"run-{arm.name}-{seed}.json")
                for seed in range(1, seeds + 1)
            ]
            for arm in ARMS
        }
        noise = [
            read(self.directory / f"noise-{seed}.json") for seed in range(1, seeds + 1)
        ]
        return summarize(self.corpus, self.stream, asdict(self.setting), runs, noise)


def conduct(study: Study, seeds: int, noise_steps: int = NOISE_STEPS) -> dict[str, Any]:
    """All runs, a seed after another, and the results."""
    torch.set_num_threads(1)
    # Tiny gradients of rare tokens would take a hundred times as long.
    torch.set_flush_denormal(True)
    for seed in range(1, seeds + 1):
        for arm in ARMS:
            study.run(arm, seed, noise_steps)
    return study.results(seeds)


def main() -> int:
    """Conducts the study as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--text", type=Path, default=site.getsitepackages()[0])
    parser.add_argument("--tokens", type=int, default=SETTING.tokens, help="of a run")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        print(
            f"study.py: --seeds: {arguments.seeds} is not accepted; accepted: at least "
            "2, since differences are compared with how they scatter",
            file=sys.stderr,
        )
        return 2
    setting = Setting(**(vars(SETTING) | {"tokens": arguments.tokens}))
    os.nice(19)
    try:
        study = Study(arguments.directory, setting, arguments.text)
        results = conduct(study, arguments.seeds)
    except ValueError as error:
        print(f"study.py: {error}", file=sys.stderr)
        return 1
    write(arguments.results, results, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

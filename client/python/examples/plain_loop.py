"""A tiny language model trained in plain PyTorch, interrupted and resumed at will.

    python plain_loop.py --checkpoint /tmp/loop.pt
    python plain_loop.py --checkpoint /tmp/loop.pt --address HOST:PORT --job NAME

Prints the loss of each step. Without an address the engine in this process packs the
documents; with one the server does, in a job that this program makes and feeds if it
isn't there. Started again, it goes on behind its last checkpoint, with the same losses
as if it had never stopped. The documents are made up from their numbers.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from evenpack import Client, Documents, MicroBatch, PackedDataset
from evenpack.adapters.micro_batches import micro_batches
from evenpack.errors import AlreadyExistsError
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

WINDOW = 256
SPEC = {
    "streams": [{"name": "text"}],
    "window": WINDOW,
    "max_length": WINDOW * 3 // 2,
    "parallelism": {"micro_batches_per_rank": 4},
    "policy": {"wlb": {"queue_thresholds": [WINDOW // 2]}},
}
LENGTHS = np.clip(np.random.default_rng(0).lognormal(3.5, 1.0, 2_000), 2, WINDOW)
# Nothing predicts a document's first token.
DOCUMENTS = Documents(LENGTHS.astype(int), loss_tokens=LENGTHS.astype(int) - 1)


def bytes_of(micro_batch: MicroBatch) -> NDArray[np.int64]:
    """Byte tokens: document d counts up from d in steps of its own."""
    lengths = micro_batch.length
    documents = np.repeat(micro_batch.sequence.astype(np.int64), lengths)
    return (documents + micro_batch.position_ids * (1 + documents % 5)) % 256


class TinyModel(nn.Module):
    """One layer of attention over bytes."""

    def __init__(self, width: int = 32) -> None:
        """With weights of PyTorch's random generator."""
        super().__init__()
        self.embedding = nn.Embedding(256, width)
        self.positions = nn.Embedding(WINDOW, width)
        self.attention = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, 256)

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        """Losses of all tokens, 0 where nothing is predicted: [T]."""
        segments = tensors["segment_ids"]
        seen = (segments[:, None] == segments).tril()
        hidden = self.embedding(tensors["tokens"])
        hidden = hidden + self.positions(tensors["positions"])
        query, key, value = self.attention(hidden).chunk(3, dim=-1)
        weights = (query @ key.T).masked_fill(~seen, float("-inf")).softmax(dim=-1)
        logits = self.output(hidden + weights @ value)
        return functional.cross_entropy(logits, tensors["labels"], reduction="none")


def open_dataset(address: str | None, job: str) -> PackedDataset:
    """The steps of this program's documents."""
    if address is None:
        return PackedDataset(spec=SPEC, lengths={"text": DOCUMENTS})
    client = Client(address)
    with suppress(AlreadyExistsError):
        client.create_job(job, SPEC)
    if not client.get_job(job).streams[0].ended:
        with client.producer(job, "text") as producer:
            rest = slice(producer.next_sequence, None)
            lengths = np.asarray(DOCUMENTS.lengths)[rest]
            producer.add(lengths, loss_tokens=lengths - 1)
            producer.end_of_stream()
    return PackedDataset(address, job=job)


class Trainer:
    """The model, its optimizer and the dataset, which are saved together."""

    def __init__(self, dataset: PackedDataset, checkpoint: Path | None) -> None:
        """Goes on from the checkpoint, if there is one."""
        torch.manual_seed(1)
        self.dataset = dataset
        self.checkpoint = checkpoint
        self.model = TinyModel()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        if checkpoint is not None and checkpoint.exists():
            saved = torch.load(checkpoint)
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            dataset.load_state_dict(saved["dataset"])
            # The run that wrote it may have been killed before it said so.
            dataset.ack_durable()

    def save(self) -> None:
        """Writes the checkpoint, then lets the server forget the steps before it."""
        if self.checkpoint is None:
            return
        new = self.checkpoint.with_suffix(".new")
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "dataset": self.dataset.state_dict(),
        }
        torch.save(state, new)
        new.replace(self.checkpoint)
        self.dataset.ack_durable()

    def train(self, steps: int, save_every: int) -> None:
        """Trains up to step `steps` - 1 of the job."""
        mean_loss = 0.0
        done = self.dataset.state_dict()["next_step"] or 0
        wanted = islice(self.dataset, max(steps - done, 0))
        for now in micro_batches(wanted, bytes_of, layout="segment_ids"):
            loss = self.model(now.tensors).sum() * now.loss_weight
            loss.backward()
            mean_loss += loss.item()
            if not now.ends_step:
                continue
            self.optimizer.step()
            self.optimizer.zero_grad()
            print(f"step {now.step.index}: loss {mean_loss:.9f}", flush=True)
            mean_loss = 0.0
            if (now.step.index + 1) % save_every == 0:
                self.save()


def main() -> None:
    """Trains as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--checkpoint", type=Path, help="a file")
    parser.add_argument("--save-every", type=int, default=5, metavar="STEPS")
    parser.add_argument("--address", metavar="HOST:PORT", help="of a packing server")
    parser.add_argument("--job", default="plain-loop", help="of the server")
    arguments = parser.parse_args()
    with open_dataset(arguments.address, arguments.job) as dataset:
        trainer = Trainer(dataset, arguments.checkpoint)
        trainer.train(arguments.steps, arguments.save_every)


if __name__ == "__main__":
    main()

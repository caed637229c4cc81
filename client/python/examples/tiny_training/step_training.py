"""What a rank does with a step: forward and backward passes, and the update."""

from __future__ import annotations

from dataclasses import dataclass

import evenpack
import numpy as np
import torch
from evenpack import MicroBatch, Step
from evenpack.corpora import TokenCorpus, gather
from evenpack.layouts import IGNORED_LABEL, native_batch, torch_tensors
from evenpack.loss_weights import GradientReduction, token_weight
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tiny_training.attention_group import AttentionGroup
from tiny_training.replica import Replica


@dataclass(frozen=True)
class StepTrainer:
    """A rank's weights, text and group.

    Attributes:
        replica: which is updated.
        corpus: what the job was fed from.
        group: computes attention.
        cp_rank: the rank's in its group.
    """

    replica: Replica
    corpus: TokenCorpus
    group: AttentionGroup
    cp_rank: int

    def _loss(self, micro_batch: MicroBatch) -> tuple[Tensor, NDArray[np.int64]]:
        """The sum of the losses of the rank's tokens; these by places in the corpus."""
        tokens = gather(micro_batch, [self.corpus])
        batch = native_batch(micro_batch, tokens, self.cp_rank)
        tensors = torch_tensors(batch)
        logits = self.replica.model(
            tensors["tokens"],
            tensors["position_ids"],
            lambda q, k, v: self.group.attend(q, k, v, micro_batch),
        )
        loss = functional.cross_entropy(
            logits, tensors["labels"], ignore_index=IGNORED_LABEL, reduction="sum"
        )
        return loss, self.replica.ledger.places(micro_batch, batch.token_indices)

    def _passes(self, step: Step) -> tuple[Tensor, list[NDArray[np.int64]]]:
        """All micro-batches of the rank: their weighted loss, and what they were of."""
        # Gradients and losses of all ranks are added up, and never divided.
        reduction = GradientReduction.of_step(step, data="sum", context="sum")
        weight = token_weight(step.loss_tokens, reduction)
        self.replica.model.zero_grad()
        total, trained = torch.zeros(()), []
        for micro_batch in step:
            loss, places = self._loss(micro_batch)
            (loss * weight).backward()
            total += loss.detach() * weight
            trained.append(places)
        return total, trained

    def train(self, step: Step) -> float:
        """Updates the weights; the mean loss of the step's tokens, of all ranks."""
        evenpack.compare_digests(step)
        for attempt in self.group.worker.attempts(step.index):
            with attempt:
                loss, trained = self._passes(step)
        mean = self.replica.update(loss)
        for places in trained:
            self.replica.ledger.add(places)
        return mean

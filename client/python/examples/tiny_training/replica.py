"""The weights that every rank has a copy of, and what is saved along with them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from evenpack import PackedDataset
from torch import Tensor

from tiny_training.model import Decoder
from tiny_training.sizes import Size
from tiny_training.token_ledger import Account, TokenLedger


class Replica:
    """Model, optimizer and ledger; alike on every rank but for the ledger's part."""

    def __init__(self, size: Size, ledger: TokenLedger) -> None:
        """With the weights that every run begins with."""
        torch.manual_seed(1)
        self.model = Decoder(size)
        self.ledger = ledger
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def update(self, loss: Tensor) -> float:
        """Adds the gradients of all ranks up and takes a step; the loss of all.

        Args:
            loss: of this rank's tokens, weighted as the gradients are, [].
        """
        parameters = list(self.model.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        assert len(gradients) == len(parameters)
        # In one buffer, which is one exchange.
        flat = torch.cat([*(g.flatten() for g in gradients), loss.detach().view(1)])
        dist.all_reduce(flat)
        reduced = flat[:-1].split([g.numel() for g in gradients])
        for gradient, total in zip(gradients, reduced, strict=True):
            gradient.copy_(total.view_as(gradient))
        self._optimizer.step()
        return float(flat[-1])

    def _counts_of_all(self) -> Tensor:
        counts = torch.from_numpy(self.ledger.counts.copy())
        dist.all_reduce(counts)
        return counts

    def save(self, file: Path, dataset: PackedDataset) -> None:
        """Writes the checkpoint; returns on every rank once it is there.

        Args:
            file: replaced at once, so that there always is a whole one.
            dataset: where it is goes into the checkpoint.
        """
        counts = self._counts_of_all()
        if dist.get_rank() == 0:
            state = {
                "model": self.model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "dataset": dataset.state_dict(),
                "counts": counts,
            }
            new = file.with_suffix(".new")
            torch.save(state, new)
            new.replace(file)
        dist.barrier()

    def load(self, file: Path) -> dict[str, Any] | None:
        """Goes on from a checkpoint, where there is one.

        Returns:
            What the dataset is to be told.
        """
        if not file.exists():
            return None
        state = torch.load(file)
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        if dist.get_rank() == 0:
            # The parts of the ranks that there were, which may have been more.
            self.ledger.counts[:] = state["counts"].numpy()
        dataset: dict[str, Any] = state["dataset"]
        return dataset

    def digest_of_weights(self) -> str:
        """SHA-256 over all parameters, in hexadecimal."""
        digest = hashlib.sha256()
        for parameter in self.model.parameters():
            digest.update(parameter.detach().numpy().tobytes())
        return digest.hexdigest()

    def account(self) -> Account:
        """What the ledgers of all ranks come to."""
        return self.ledger.account(self._counts_of_all().numpy())

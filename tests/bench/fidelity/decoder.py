"""A tiny decoder over packed documents, each attending within itself only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

# Documents whose lengths round up to the same power of two, from this one on, are
# computed together.
_SHORTEST_BUCKET = 16
# Of the weights at first. About 1 / sqrt(width): with the 0.02 of large models so
# narrow a one takes a million tokens to begin to learn.
DEVIATION = 0.1


@dataclass(frozen=True)
class PackedTokens:
    """Documents one after another, as the model takes them.

    Attributes:
        tokens: int64 [T].
        positions: int64 [T], from 0 in each document.
        labels: int64 [T]: the next token of the document; -100 at its last.
        buckets: int64 [documents, length] each: where the tokens of documents of like
            length are; T where a row has come to its end.
    """

    tokens: Tensor
    positions: Tensor
    labels: Tensor
    buckets: list[Tensor]


def pack(documents: Sequence[NDArray[np.uint16]]) -> PackedTokens:
    """Lays documents, of one token or more each, one after another."""
    lengths = np.array([len(document) for document in documents])
    starts = np.cumsum(lengths) - lengths
    tokens = np.concatenate(documents).astype(np.int64)
    labels = np.append(tokens[1:], -100)
    labels[starts + lengths - 1] = -100
    total = len(tokens)
    sizes = np.maximum(_SHORTEST_BUCKET, 2 ** np.ceil(np.log2(lengths)).astype(int))
    buckets = []
    for size in np.unique(sizes).tolist():
        here = np.flatnonzero(sizes == size)
        within = np.arange(min(size, int(lengths[here].max())))[None, :]
        rows = starts[here][:, None] + within
        rows[within >= lengths[here][:, None]] = total
        buckets.append(torch.from_numpy(rows))
    return PackedTokens(
        torch.from_numpy(tokens),
        torch.from_numpy(np.arange(total) - np.repeat(starts, lengths)),
        torch.from_numpy(labels),
        buckets,
    )


class Block(nn.Module):
    """Attention and a feed-forward layer, normalised before each."""

    def __init__(self, width: int, heads: int) -> None:
        """With PyTorch's initialisation, to be replaced."""
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width, bias=False)
        self.merge = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def attend(self, hidden: Tensor, buckets: Sequence[Tensor]) -> Tensor:
        """Causal attention within each document: [T, width]."""
        total, width = hidden.shape
        mixed = self.attention(hidden).view(total, 3, self.heads, width // self.heads)
        # Row T is what rows that have come to their end read and write.
        mixed = functional.pad(mixed, (0, 0, 0, 0, 0, 0, 0, 1))
        places, values = [], []
        for rows in buckets:
            query, key, value = mixed[rows].permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(
                query, key, value, is_causal=True
            )
            places.append(rows.flatten())
            values.append(seen.transpose(1, 2).reshape(-1, width))
        out = hidden.new_zeros(total + 1, width)
        return out.index_copy(0, torch.cat(places), torch.cat(values))[:total]

    def forward(self, hidden: Tensor, buckets: Sequence[Tensor]) -> Tensor:
        """[T, width] of [T, width]."""
        seen = self.attend(self.attention_norm(hidden), buckets)
        hidden = hidden + self.merge(seen)
        inner = functional.gelu(self.up(self.norm(hidden)))
        moved: Tensor = hidden + self.down(inner)
        return moved


class Decoder(nn.Module):
    """Learned positions, blocks, and an output tied to the embedding."""

    def __init__(
        self, vocabulary: int, context: int, width: int, heads: int, layers: int
    ) -> None:
        """Weights drawn by PyTorch's random generator: normal, of DEVIATION."""
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                inward = name.endswith(("merge.weight", "down.weight"))
                scale = DEVIATION / (2 * layers) ** 0.5 if inward else DEVIATION
                nn.init.normal_(parameter, 0.0, scale)

    def forward(self, packed: PackedTokens) -> Tensor:
        """Losses of all tokens in nats, 0 where nothing is predicted: [T]."""
        hidden = self.embedding(packed.tokens) + self.positions(packed.positions)
        for block in self.blocks:
            hidden = block(hidden, packed.buckets)
        logits = functional.linear(self.norm(hidden), self.embedding.weight)
        return functional.cross_entropy(logits, packed.labels, reduction="none")

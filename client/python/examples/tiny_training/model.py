"""A decoder over bytes whose tokens are those that one rank of a CP group holds.

Everything but attention is done token by token, so that a rank needs nothing of the
others; attention is handed in.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiny_training.sizes import HEAD_SIZE, Size

BYTES = 256
# Queries [rows, query_heads, HEAD_SIZE], keys and values [rows, kv_heads, HEAD_SIZE] of
# the rank's rows to what the queries see, as the queries.
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def _rotations(positions: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of rotary positions, [rows, 1, HEAD_SIZE / 2] each."""
    exponents = torch.arange(0, HEAD_SIZE, 2, dtype=torch.float32) / HEAD_SIZE
    angles = positions[:, None, None].float() * 10_000.0**-exponents
    return angles.cos(), angles.sin()


def _rotate(heads: Tensor, rotations: tuple[Tensor, Tensor]) -> Tensor:
    cosines, sines = rotations
    first, second = heads.chunk(2, dim=-1)
    return torch.cat(
        [first * cosines - second * sines, first * sines + second * cosines], dim=-1
    )


class Layer(nn.Module):
    """Attention and a SwiGLU feed-forward layer, each behind an RMS norm."""

    def __init__(self, size: Size) -> None:
        """With weights of PyTorch's random generator."""
        super().__init__()
        self._heads = (size.query_heads, size.kv_heads, size.kv_heads)
        self.attention_norm = nn.RMSNorm(size.width)
        heads = sum(self._heads)
        self.inputs = nn.Linear(size.width, heads * HEAD_SIZE, bias=False)
        self.output = nn.Linear(size.query_heads * HEAD_SIZE, size.width, bias=False)
        self.feed_forward_norm = nn.RMSNorm(size.width)
        self.up = nn.Linear(size.width, 2 * size.feed_forward, bias=False)
        self.down = nn.Linear(size.feed_forward, size.width, bias=False)

    def forward(
        self, hidden: Tensor, rotations: tuple[Tensor, Tensor], attend: Attend
    ) -> Tensor:
        """The hidden states behind the layer, [rows, width] as those before it."""
        heads = self.inputs(self.attention_norm(hidden)).unflatten(-1, (-1, HEAD_SIZE))
        query, key, value = heads.split(self._heads, dim=-2)
        seen = attend(_rotate(query, rotations), _rotate(key, rotations), value)
        hidden = hidden + self.output(seen.flatten(-2))
        gate, up = self.up(self.feed_forward_norm(hidden)).chunk(2, dim=-1)
        return hidden + self.down(functional.silu(gate) * up)


class Decoder(nn.Module):
    """Predicts each next byte of a document."""

    def __init__(self, size: Size) -> None:
        """With weights of PyTorch's random generator."""
        super().__init__()
        self.embedding = nn.Embedding(BYTES, size.width)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.width)
        self.output = nn.Linear(size.width, BYTES, bias=False)

    def forward(self, tokens: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Logits of the byte after each token.

        Args:
            tokens: int64 [rows], the rank's tokens and then its padding.
            positions: int64 [rows], within each token's document.
            attend: attention over the CP group; called once a layer, on every rank.

        Returns:
            [rows, BYTES].
        """
        rotations = _rotations(positions)
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = layer(hidden, rotations, attend)
        logits: Tensor = self.output(self.norm(hidden))
        return logits

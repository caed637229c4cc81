"""A data loader of torchtitan that gives balanced micro-batches.

In a configuration of torchtitan's:

    Trainer.Config(
        dataloader=TorchtitanLoader.Config(
            dataset_of=lambda dp_rank: PackedDataset(
                "packer:7654", job="run-7", dp_rank=dp_rank
            ),
            tokens_of=partial(gather, corpora=[corpus]),
        ),
        training=TrainingConfig(
            local_batch_size=1,
            global_batch_size=DP * M,
            disable_cuda_graphs=True,
            ...
        ),
        ...
    )

where M is the job's micro_batches_per_rank. torchtitan divides the sum of losses by the
labels of a step that count, on all ranks, so unequal micro-batches need no weights.

ChunkedLossWrapper, which is the loss of torchtitan's configurations, refuses rows whose
tokens are no multiple of its num_chunks, 8: the job pads to a multiple of 8 * CP
(`"consumer_layout": {"pad_tokens_to": 8 * CP}`). CUDA graphs, which are on unless they
are disabled, refuse a second shape: they need a job that pads to its max_length.

Written for torchtitan 0.3.0, whose BaseDataLoader this is one of. Where torchtitan is
not installed, it has what is documented of that: a Config with `dataset` and
`dataset_path`, __iter__, state_dict and load_state_dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenpack import PackedDataset
from evenpack._native import Step
from evenpack.adapters.micro_batches import TokensOf, micro_batches
from evenpack.data_parallel_ranks import DataParallelRanks
from evenpack.errors import FailedPreconditionError
from evenpack.failing_iterator import FailingIterator
from evenpack.invalid_argument import checked_callable, invalid_argument

if TYPE_CHECKING:
    from torch import Tensor


class _DocumentedLoader:
    """What stands for torchtitan's BaseDataLoader where there is none."""

    @dataclass(kw_only=True, slots=True)
    class Config:
        """The fields that every loader's configuration has."""

        dataset: str = ""
        dataset_path: str | None = None


if TYPE_CHECKING:
    _BaseDataLoader = _DocumentedLoader
else:
    try:
        from torchtitan.components.dataloader import BaseDataLoader as _BaseDataLoader
    except ImportError:
        _BaseDataLoader = _DocumentedLoader

# The key of all that is saved. It names no rank: a checkpoint has it once, and ranks of
# another number find it.
_STATE = "evenpack"


class TorchtitanLoader(_BaseDataLoader):
    """One data-parallel rank's micro-batches, as torchtitan's trainer takes them.

    Gives ({"input": tokens, "positions": positions}, labels), each int64, [1, T]:
    positions begin at 0 in each document, by which torchtitan tells documents apart,
    and are 0 for padding; labels are -100 where nothing is predicted. T is another for
    each micro-batch, unless the job pads to one shape; where torchtitan shards it over
    CP ranks, the job must pad to a multiple of 2 * CP. The last micro-batches of a job
    may be empty, with T 0 also where it pads: set training.steps below that.

    Its state is the same on all ranks, so that a run can go on with another number of
    ranks where the job's shape is changed with it. A server keeps a job's steps until
    they are marked as durable, and decides no more than max_steps_ahead of them.
    torchtitan doesn't tell its loaders when a checkpoint is committed: call
    `loader.dataset.ack_durable()` on each rank then, and where a run goes on from one
    right after it was loaded.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(_BaseDataLoader.Config):
        """Where the micro-batches come from.

        Attributes:
            dataset_of: makes the dataset of a data-parallel rank. Needed.
            tokens_of: gives the token ids of a micro-batch, as
                `evenpack.corpora.gather` does. Needed.
            pad_token: the token id of padding.
        """

        dataset_of: Callable[[int], PackedDataset] | None = None
        tokens_of: TokensOf | None = None
        pad_token: int = 0

    def __init__(
        self,
        config: Config,
        *,
        dp_world_size: int,
        dp_rank: int,
        seq_len: int,
        local_batch_size: int = 1,
        **_runtime: object,
    ) -> None:
        """Opens nothing yet; `config.build(...)` calls it.

        Args:
            config: says where from.
            dp_world_size: data-parallel ranks, the job's DP.
            dp_rank: which one this is, 0 to DP - 1.
            seq_len: tokens that a document may have: positions are below it.
            local_batch_size: 1, since a micro-batch is one row of packed documents.
            _runtime: what else torchtitan gives its loaders, such as a tokenizer.

        Raises:
            InvalidArgumentError: a batch size above 1, or a field of the configuration
                is missing, or can't be called.
        """
        if local_batch_size != 1:
            raise invalid_argument("local_batch_size", local_batch_size, "1")
        dataset_of = checked_callable(
            "dataset_of", config.dataset_of, "what makes a rank's dataset"
        )
        self._tokens_of = checked_callable(
            "tokens_of", config.tokens_of, "what gives the tokens"
        )
        self._pad_token = config.pad_token
        self._ranks = dp_world_size
        self._sizes = DataParallelRanks("dp_world_size", dp_world_size)
        self._longest = seq_len
        self._dataset = dataset_of(dp_rank)
        # Micro-batches of the last step that were not given yet, and of how many.
        self._left = (0, 0)

    @property
    def dataset(self) -> PackedDataset:
        """The rank's steps, to mark them as durable."""
        return self._dataset

    def __iter__(self) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
        """From where the loader is until the job is drained.

        Raises:
            InvalidArgumentError: the job is of another number of ranks, or a document
                longer than seq_len.
            FailedPreconditionError: within a step, whose rest would be lost.
        """
        return FailingIterator(self._rows())

    def _rows(self) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
        import torch

        self._check_between_steps()
        for now in micro_batches(
            self._checked_steps(),
            self._tokens_of,
            layout="segment_ids",
            pad_token=self._pad_token,
        ):
            longest = now.micro_batch.max_seqlen
            if longest > self._longest:
                accepted = f"at least {longest}, the tokens of a document"
                raise invalid_argument("seq_len", self._longest, accepted)
            left, of_step = self._left
            self._left = (left - 1, of_step)
            row = {name: column.unsqueeze(0) for name, column in now.tensors.items()}
            positions = row["positions"].to(torch.int64)
            yield {"input": row["tokens"], "positions": positions}, row["labels"]

    def _checked_steps(self) -> Iterator[Step]:
        for step in self._dataset:
            self._sizes.check(step)
            self._left = (len(step), len(step))
            yield step

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: behind the last step.

        Raises:
            FailedPreconditionError: within a step, which can't be resumed: torchtitan
                takes more or fewer micro-batches for a step than the job has in one.
        """
        self._check_between_steps()
        return {_STATE: self._dataset.state_dict()}

    def _check_between_steps(self) -> None:
        left, of_step = self._left
        if left > 0:
            raise FailedPreconditionError(
                f"{of_step - left} of a step's {of_step} micro-batches were taken; "
                f"accepted: all, so global_batch_size {self._ranks * of_step}; or "
                "load_state_dict() of before or behind the step"
            )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on behind the step that a loader had given, of any rank.

        Args:
            state_dict: of `state_dict()`; empty: from the beginning.

        Raises:
            InvalidArgumentError: as PackedDataset.load_state_dict, or it is another
                loader's.
        """
        if not state_dict:
            return
        if _STATE not in state_dict:
            names = ", ".join(sorted(state_dict))
            raise invalid_argument("state_dict", names, f"one with '{_STATE}'")
        self._dataset.load_state_dict(state_dict[_STATE])
        self._left = (0, 0)

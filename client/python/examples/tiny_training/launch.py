"""What the launcher tells the ranks that it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tiny_training.sizes import CONTEXT_PARALLEL, SIZES, Size


@dataclass(frozen=True)
class Launch:
    """Rank processes from their start to their common end.

    Attributes:
        folder: of the run; what a launch leaves is in there for the next one.
        number: of the launch within the run, from 0.
        corpus: path of the indexed dataset without its endings.
        size: one of SIZES.
        data_parallel: DP of this launch.
        address: the packing server's; None: the engine in each rank's process.
        job: the job's name there.
        backend: "inprocess" or "sidecar": where attention is computed.
        last_step: the step behind which it ends; None: when the job is drained.
    """

    folder: str
    number: int
    corpus: str
    size: str
    data_parallel: int
    address: str | None
    job: str
    backend: str
    last_step: int | None

    @property
    def ranks(self) -> int:
        """DP x CP."""
        return self.data_parallel * CONTEXT_PARALLEL

    @property
    def shape(self) -> Size:
        """The size by its name."""
        return SIZES[self.size]

    @property
    def checkpoint(self) -> Path:
        """The file with all that the run goes on from; none at first."""
        return Path(self.folder) / "checkpoint.pt"

    @property
    def rendezvous(self) -> Path:
        """The file by which the ranks find each other; none of another launch."""
        return Path(self.folder) / f"rendezvous-{self.number}"

    def log(self, rank: int) -> Path:
        """The file with what a rank writes for people."""
        return Path(self.folder) / f"launch-{self.number}-rank-{rank}.log"

    def socket_folder(self, rank: int) -> Path:
        """Of the sidecar of a rank."""
        return Path(self.folder) / f"sidecar-{self.number}-{rank}"

"""Jobs of a packing server: made, looked at, reshaped, kept and fed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenpack import _native, retry_log
from evenpack.errors import UnavailableError
from evenpack.invalid_argument import (
    check_seconds,
    checked_bytes,
    checked_index,
    checked_integer,
    checked_text,
    checked_uint32,
    invalid_argument,
    quoted,
)
from evenpack.producer import Producer
from evenpack.security import Security
from evenpack.spec import SpecSource, job_spec
from evenpack.transport import ServerTransports, TransportOptions, check_process
from evenpack.v1.job_pb2 import Job
from evenpack.v1.packing_service_pb2 import (
    AcknowledgeRequest,
    CheckpointJobResponse,
    DocumentRange,
    ForkJobRequest,
    ListJobsResponse,
    RewindJobRequest,
    SkipDocumentsRequest,
    UpdateJobRequest,
)


class Client:
    """A packing server. Thread-safe.

    Calls are tried again while the server is away, for as long as `patience_seconds`,
    where that can't do a thing twice. Errors are those of `evenpack.errors`; a name,
    step, epoch or sequence number that is none is an InvalidArgumentError, and every
    call a FailedPreconditionError in a process that was forked from the client's.
    """

    def __init__(
        self,
        address: str,
        *,
        security: Security | None = None,
        options: TransportOptions | None = None,
        patience_seconds: float = 600.0,
    ) -> None:
        """Connects with the first call.

        Args:
            address: "HOST:PORT", or a name with a scheme of gRPC's ("unix:PATH"); of
                servers that share a database any will do, or several with commas
                between them. Which of them leads a job they say themselves, and it is
                followed.
            security: TLS, and who this client is; what the environment says where None.
            options: keepalive, limits.
            patience_seconds: how long a server that is away is waited for.

        Raises:
            InvalidArgumentError: a security that can't work, no such time, or an
                argument of another class.
        """
        check_seconds("patience_seconds", patience_seconds, 0)
        self.address = address = checked_text("address", address)
        # Of nanoseconds, 64 bits hold little more.
        patience = min(float(patience_seconds), 1e9)
        transports = ServerTransports(address, options, security)
        self._native = _native.Client.connect(
            address, transports.at, patience, retry_log.warn
        )

    @property
    def native(self) -> _native.Client:
        """What does its calls.

        Raises:
            FailedPreconditionError: in a process forked from the client's, where they
                would hang.
        """
        check_process()
        return self._native

    def create_job(self, name: str, spec: SpecSource) -> Job:
        """A new job. AlreadyExistsError: there is one of that name that differs."""
        name, fields = checked_text("name", name), job_spec(spec)
        answer = self.native.create_job(name, fields.SerializeToString())
        return Job.FromString(answer)

    def get_job(self, name: str) -> Job:
        """The job as it is now, its spec with all defaults."""
        return Job.FromString(self.native.get_job(checked_text("name", name)))

    def list_jobs(self) -> list[Job]:
        """All jobs by name, without those that the server could not recover.

        Raises:
            UnavailableError: the server of a job can't be asked; the message says which
                jobs are missing.
        """
        listed = ListJobsResponse.FromString(self.native.list_jobs())
        elsewhere = {place.name for place in listed.led_elsewhere}
        missing = [job for job in listed.broken_jobs if job.name in elsewhere]
        if missing:
            why = "; ".join(f"{job.name}: {job.error}" for job in missing)
            raise UnavailableError(f"jobs whose server can't be asked: {why}")
        return list(listed.jobs)

    def update_job(
        self,
        name: str,
        spec: SpecSource,
        *,
        from_step: int | None = None,
        expected_epoch: int | None = None,
    ) -> Job:
        """Another shape: DP, CP, window, policy and so on.

        Args:
            name: the job's.
            spec: the whole new one; streams and merge as they are.
            from_step: its first step, above the last durable one; the next to be
                decided where left out.
            expected_epoch: refuse where the job's epoch is another. A call without it
                is not tried again.
        """
        request = UpdateJobRequest(
            name=checked_text("name", name),
            spec=job_spec(spec),
            from_step=checked_index("from_step", from_step),
            expected_epoch=checked_index("expected_epoch", expected_epoch),
        )
        return Job.FromString(self.native.update_job(request.SerializeToString()))

    def delete_job(self, name: str) -> None:
        """Ends a job and forgets it."""
        self.native.delete_job(checked_text("name", name))

    def checkpoint_job(self, name: str, step: int) -> CheckpointJobResponse:
        """The job as it was after `step`, which restore_job() or a dataset takes."""
        name, step = checked_text("name", name), checked_integer("step", step)
        answer = self.native.checkpoint_job(name, step)
        return CheckpointJobResponse.FromString(answer)

    def restore_job(self, name: str, checkpoint: bytes | bytearray | memoryview) -> Job:
        """A new job from a checkpoint, of a server's job or of a dataset's own.

        Producers go on from `streams[i].next_sequence` of the answer.
        """
        name = checked_text("name", name)
        given = checked_bytes("checkpoint", checkpoint)
        return Job.FromString(self.native.restore_job(name, given))

    def rewind_job(
        self, name: str, from_step: int, *, expected_epoch: int | None = None
    ) -> Job:
        """Has steps from `from_step` on decided anew."""
        request = RewindJobRequest(
            name=checked_text("name", name),
            from_step=checked_integer("from_step", from_step),
            expected_epoch=checked_index("expected_epoch", expected_epoch),
        )
        return Job.FromString(self.native.rewind_job(request.SerializeToString()))

    def fork_job(self, name: str, new_name: str, step: int) -> Job:
        """A new job that has the steps up to `step` in common with another."""
        request = ForkJobRequest(
            name=checked_text("name", name),
            new_name=checked_text("new_name", new_name),
            step=checked_integer("step", step),
        )
        return Job.FromString(self.native.fork_job(request.SerializeToString()))

    def skip_documents(
        self,
        name: str,
        documents: Sequence[tuple[str, int, int]],
        *,
        from_step: int | None = None,
    ) -> Job:
        """Has no further step contain them.

        Args:
            name: the job's.
            documents: (stream, first sequence number, how many).
            from_step: the first step without them; the next to be decided where left
                out.
        """
        request = SkipDocumentsRequest(
            name=checked_text("name", name),
            skip=_ranges(documents),
            from_step=checked_index("from_step", from_step),
        )
        return Job.FromString(self.native.skip_documents(request.SerializeToString()))

    def acknowledge(self, name: str, dp_rank: int, step: int, epoch: int) -> int:
        """Marks the steps up to `step`, of that epoch, as durable for a rank.

        Returns:
            How many of its steps are durable now.
        """
        request = AcknowledgeRequest(
            job=checked_text("name", name),
            dp_rank=checked_uint32("dp_rank", dp_rank),
            step=checked_integer("step", step),
            epoch=checked_integer("epoch", epoch),
        )
        return self.native.acknowledge(request.SerializeToString())

    def producer(
        self, job: str, stream: str, *, from_sequence: int | None = None
    ) -> Producer:
        """Feeds a stream; waits until the server has said where it goes on.

        Args:
            job: its name.
            stream: one of the job's.
            from_sequence: number of the first document to be added, not above what the
                server has; where it goes on, if left out.
        """
        job, stream = checked_text("job", job), checked_text("stream", stream)
        first = checked_index("from_sequence", from_sequence)
        return Producer(self.native.open_producer(job, stream, first))


def _ranges(documents: Iterable[tuple[str, int, int]]) -> list[DocumentRange]:
    accepted = "(stream, first sequence number, how many)"
    if not isinstance(documents, Iterable):
        raise invalid_argument("documents", quoted(documents), f"some {accepted}")
    ranges = []
    for i, each in enumerate(documents):
        parts = tuple(each) if isinstance(each, Iterable) else ()
        if len(parts) != 3:
            raise invalid_argument(f"documents[{i}]", quoted(each), accepted)
        stream, first, count = parts
        ranges.append(
            DocumentRange(
                stream=checked_text("documents.stream", stream),
                first_sequence=checked_integer("documents.first_sequence", first),
                documents=checked_integer("documents.documents", count),
            )
        )
    return ranges

"""A packing server that answers as a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
from types import TracebackType
from typing import NoReturn, Self

import grpc
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

GetJob = Callable[[api.GetJobRequest, grpc.ServicerContext], api.GetJobResponse]
ListJobs = Callable[[api.ListJobsRequest, grpc.ServicerContext], api.ListJobsResponse]
Ingest = Callable[
    [Iterator[api.IngestRequest], grpc.ServicerContext], Iterator[api.IngestResponse]
]


def _refuse(
    context: grpc.ServicerContext, reason: str, *more: Any, **metadata: str
) -> NoReturn:
    info = Any()
    info.Pack(
        error_details_pb2.ErrorInfo(reason=reason, domain="evenpack", metadata=metadata)
    )
    status = status_pb2.Status(
        code=grpc.StatusCode.UNAVAILABLE.value[0],
        message=f"{reason} {metadata}",
        details=[info, *more],
    )
    context.set_trailing_metadata(
        (("grpc-status-details-bin", status.SerializeToString()),)
    )
    context.abort(grpc.StatusCode.UNAVAILABLE, status.message)


def led_elsewhere(context: grpc.ServicerContext, address: str) -> NoReturn:
    """Ends the call: the server at that address leads the job."""
    _refuse(context, "LED_ELSEWHERE", job="run", address=address)


def no_leader(context: grpc.ServicerContext) -> NoReturn:
    """Ends the call: nobody leads the job just now."""
    retry = Any()
    retry.Pack(error_details_pb2.RetryInfo(retry_delay=Duration(nanos=200_000_000)))
    _refuse(context, "NO_LEADER", retry, job="run")


class ScriptedServer(rpc.PackingServiceServicer):
    """Serves when it is made. What it is asked for is counted, by method."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        """Answers nothing before the test says how; without credentials no TLS."""
        self.get_job: GetJob | None = None
        self.list_jobs: ListJobs | None = None
        self.ingest: Ingest | None = None
        self.calls: list[str] = []
        # Of calls of GetJob.
        self.tokens: list[str] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        rpc.add_PackingServiceServicer_to_server(self, self._server)
        if credentials is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def stop(self) -> None:
        """Ends its calls; nobody listens then."""
        self._server.stop(None).wait()

    def __enter__(self) -> Self:
        """The server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops it."""
        self.stop()

    def GetJob(  # noqa: N802
        self, request: api.GetJobRequest, context: grpc.ServicerContext
    ) -> api.GetJobResponse:
        """As get_job says."""
        self.calls.append("GetJob")
        self.tokens += [
            str(value)
            for key, value in context.invocation_metadata()
            if key == "authorization"
        ]
        assert self.get_job is not None
        return self.get_job(request, context)

    def ListJobs(  # noqa: N802
        self, request: api.ListJobsRequest, context: grpc.ServicerContext
    ) -> api.ListJobsResponse:
        """As list_jobs says."""
        self.calls.append("ListJobs")
        assert self.list_jobs is not None
        return self.list_jobs(request, context)

    def Ingest(  # noqa: N802
        self, requests: Iterator[api.IngestRequest], context: grpc.ServicerContext
    ) -> Iterator[api.IngestResponse]:
        """As ingest says."""
        self.calls.append("Ingest")
        assert self.ingest is not None
        return self.ingest(requests, context)

"""A channel whose calls all end: within DEADLINE, where they don't say otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import grpc
from child_process import DEADLINE


class _DeadlineForAll(
    grpc.UnaryUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Gives each call that has none a deadline."""

    @staticmethod
    def _limited(details: grpc.ClientCallDetails) -> grpc.ClientCallDetails:
        if details.timeout is None:
            # Of the named tuple that every channel makes.
            replace = cast(Any, details)._replace
            return cast(grpc.ClientCallDetails, replace(timeout=DEADLINE))
        return details

    def intercept_unary_unary(
        self,
        continuation: Callable[..., Any],
        client_call_details: grpc.ClientCallDetails,
        request: object,
    ) -> Any:  # noqa: ANN401
        """A call with one message each way."""
        return continuation(self._limited(client_call_details), request)

    def intercept_stream_stream(
        self,
        continuation: Callable[..., Any],
        client_call_details: grpc.ClientCallDetails,
        request_iterator: Iterator[object],
    ) -> Any:  # noqa: ANN401
        """A call with messages both ways."""
        return continuation(self._limited(client_call_details), request_iterator)


def open_channel(
    address: str,
    options: Sequence[tuple[str, int]] = (),
    credentials: grpc.ChannelCredentials | None = None,
) -> grpc.Channel:
    """A channel to a server; `options` are channel arguments, no credentials no TLS."""
    if credentials is None:
        channel = grpc.insecure_channel(address, options=options)
    else:
        channel = grpc.secure_channel(address, credentials, options=options)
    return grpc.intercept_channel(channel, _DeadlineForAll())

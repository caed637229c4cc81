"""A channel of grpcio's with TLS and a token, where those are wanted."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import grpc

from evenpack import _native
from evenpack.errors import InvalidArgumentError
from evenpack.security import Security, read_token

Arguments = Sequence[tuple[str, str | int]]
Metadata = tuple[tuple[str, str], ...]
# Code, message, bytes of a google.rpc.Status.
Status = tuple[int, str, bytes]
# What tells one version of a file from another.
_Versions = list[tuple[int, int, int]]

_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE.value[0]
_UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED.value[0]
# What grpcio itself gives to calls which reach no server.
_OF_NO_SERVER = {
    _UNAVAILABLE,
    grpc.StatusCode.CANCELLED.value[0],
    grpc.StatusCode.DEADLINE_EXCEEDED.value[0],
}


class SecuredChannel:
    """The channel of the moment: another one when a file of the security has changed.

    grpcio reads certificates when a channel is made. Calls stay on the channel that
    they began on, which goes with the last of them. Thread-safe.
    """

    def __init__(
        self,
        address: str,
        security: Security,
        arguments: Arguments,
        credentials: grpc.ChannelCredentials | None = None,
        was_answered: threading.Event | None = None,
    ) -> None:
        """Connects when the first call is made.

        Args:
            address: any name that gRPC resolves.
            security: checked for it.
            arguments: of gRPC's channels.
            credentials: in place of those that `security` makes.
            was_answered: set once a server has answered; channels to servers of one
                database share it.
        """
        self._address = address
        self._security = security
        self._arguments = list(arguments)
        if security.server_name is not None:
            name = ("grpc.ssl_target_name_override", security.server_name)
            self._arguments.append(name)
        self._credentials = credentials
        # Otherwise a refused handshake is one that an agent tells of.
        self._tls = security.uses_tls or credentials is not None
        self._lock = threading.Lock()
        self._token = ""
        self._was_answered = was_answered or threading.Event()
        self._closed = False
        self._versions = self._versions_now()
        self._channel = self._make()
        self._made = weakref.WeakSet([self._channel])

    def channel(self) -> grpc.Channel:
        """For one call, which holds it while it lasts."""
        with self._lock:
            if not self._closed:
                self._follow_files()
            return self._channel

    def metadata(self) -> Metadata:
        """What goes with each call: the token that its file has now.

        Where it has none, as while it is being written, the last that it had.
        """
        if self._security.token_file is None:
            return ()
        try:
            token = read_token(self._security.token_file)
        except InvalidArgumentError:
            token = ""
        with self._lock:
            self._token = token or self._token
            token = self._token
        return (("authorization", f"Bearer {token}"),) if token else ()

    def judged(self, status: Status) -> Status:
        """How a call ended.

        Until a server has answered, a certificate of its that is refused is a mistake
        of whoever wrote the options, and no attempt mends it: UNAUTHENTICATED.
        Afterwards it may be one that is about to be renewed.
        """
        code, message, details = status
        if code not in _OF_NO_SERVER:
            self.answered()
            return status
        if code != _UNAVAILABLE or not self._tls or self._was_answered.is_set():
            return status
        if _native.is_handshake_refusal(message):
            return _UNAUTHENTICATED, message, details
        return status

    def answered(self) -> None:
        """A server has sent something."""
        self._was_answered.set()

    def close(self) -> None:
        """Cancels what is under way."""
        with self._lock:
            self._closed = True
            for channel in self._made:
                channel.close()

    def _follow_files(self) -> None:
        versions = self._versions_now()
        if not versions or versions == self._versions:
            return
        try:
            made = self._make()
        except OSError:
            # A file went between the two; the next call finds what comes in its place.
            return
        self._versions = versions
        self._channel = made
        self._made.add(made)

    def _versions_now(self) -> _Versions:
        """Of the files that are read when a channel is made; none while one is away."""
        security = self._security
        files = [security.ca, security.certificate, security.key]
        try:
            found = [Path(file).stat() for file in files if file is not None]
        except OSError:
            return []
        return [(each.st_mtime_ns, each.st_ino, each.st_size) for each in found]

    def _make(self) -> grpc.Channel:
        credentials = self._credentials or self._make_credentials()
        if credentials is None:
            return grpc.insecure_channel(self._address, self._arguments)
        return grpc.secure_channel(self._address, credentials, self._arguments)

    def _make_credentials(self) -> grpc.ChannelCredentials | None:
        security = self._security
        if not security.uses_tls:
            return None
        pair: list[bytes | None] = [None, None]
        if security.key is not None and security.certificate is not None:
            files = (security.key, security.certificate)
            pair = [Path(file).read_bytes() for file in files]
        return grpc.ssl_channel_credentials(security.roots(), *pair)

"""How a client makes sure whom it talks to, and says who it is."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from evenpack import _native
from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import (
    checked_boolean,
    checked_path,
    checked_text,
    invalid_argument,
)

_MOST_TOKEN_BYTES = 8192

# Environment variables that stand for a Security that isn't given, as for evenpackctl.
_VARIABLES = {
    "ca": "EVENPACK_TLS_CA",
    "certificate": "EVENPACK_TLS_CERTIFICATE",
    "key": "EVENPACK_TLS_KEY",
    "server_name": "EVENPACK_TLS_SERVER_NAME",
    "token_file": "EVENPACK_TOKEN_FILE",
    "tls": "EVENPACK_TLS",
}


@dataclass(frozen=True)
class Security:
    """TLS, and who this client is.

    Files are PEM, but for the token's. They are read again when they change: new
    connections have what they hold then, and each call the token.

    Attributes:
        ca: a file with the authorities that may have signed the server's certificate;
            turns TLS on.
        certificate: a file with this client's certificate, and those between it and
            the authority.
        key: a file with its key.
        server_name: the name that the server's certificate must have; None: the
            address's host.
        token_file: a file with a token, which is sent with each call. Whitespace at its
            end is not part of it. Without TLS only to this machine.
        tls: TLS without `ca`, with the system's authorities.
    """

    ca: str | os.PathLike[str] | None = None
    certificate: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    server_name: str | None = None
    token_file: str | os.PathLike[str] | None = None
    tls: bool = False

    def __post_init__(self) -> None:
        """Looks at what kind of value each is; check() at what it says.

        Raises:
            InvalidArgumentError: one of another kind.
        """
        for name in ("ca", "certificate", "key", "token_file"):
            if getattr(self, name) is not None:
                checked_path(f"security.{name}", getattr(self, name))
        if self.server_name is not None:
            checked_text("security.server_name", self.server_name)
        object.__setattr__(self, "tls", checked_boolean("security.tls", self.tls))

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.tls or self.ca is not None

    def check(self, address: str, names: Mapping[str, str] | None = None) -> None:
        """Whether the parts go together, and the files hold what they should, now.

        Args:
            address: of the server.
            names: how errors name the attributes; "security.ca" and so on where None.

        Raises:
            InvalidArgumentError: naming the attribute and the file, never what is in
                it.
        """
        shown = names or {each.name: f"security.{each.name}" for each in fields(self)}
        for one, other in (("certificate", "key"), ("key", "certificate")):
            if getattr(self, one) is None and getattr(self, other) is not None:
                raise invalid_argument(shown[one], None, f"one with {shown[other]}")
        if not self.uses_tls:
            self._check_without_tls(address, shown)
        for name, label in (
            ("ca", b"CERTIFICATE"),
            ("certificate", b"CERTIFICATE"),
            ("key", b"PRIVATE KEY"),
        ):
            _check_pem(shown[name], getattr(self, name), label)
        if self.token_file is not None:
            read_token(self.token_file, shown["token_file"])

    def _check_without_tls(self, address: str, shown: Mapping[str, str]) -> None:
        for name in ("certificate", "server_name"):
            value = getattr(self, name)
            if value is not None:
                accepted = "one with TLS, which is off"
                raise invalid_argument(shown[name], f"'{value}'", accepted)
        if self.token_file is not None and not _native.is_local_address(address):
            raise invalid_argument(
                shown["token_file"],
                f"'{self.token_file}'",
                "one with TLS, which is off, or for a server of this machine, which "
                f"'{address}' is not: what is sent in the clear is anyone's",
            )

    def roots(self) -> bytes | None:
        """The authorities that are accepted; None: those that grpcio has."""
        if self.ca is not None:
            return Path(self.ca).read_bytes()
        paths = ssl.get_default_verify_paths()
        bundles = [paths.cafile or "", f"{paths.capath}/ca-certificates.crt"]
        found = [bundle for bundle in bundles if Path(bundle).is_file()]
        return Path(found[0]).read_bytes() if found else None


def security_for(address: str, given: Security | None) -> Security:
    """`given`, else what the environment says; checked.

    Raises:
        InvalidArgumentError: as Security.check, naming what was given.
    """
    if given is not None:
        given.check(address)
        return given
    security = _of_environment(os.environ)
    security.check(address, _VARIABLES)
    return security


def _of_environment(environment: Mapping[str, str]) -> Security:
    """An empty variable is none."""
    given = {name: environment.get(key) or None for name, key in _VARIABLES.items()}
    switch = given.pop("tls")
    if switch not in (None, "0", "1", "false", "true"):
        raise invalid_argument(_VARIABLES["tls"], f"'{switch}'", "0 or 1")
    return Security(tls=switch in ("1", "true"), **given)


def read_token(file: str | os.PathLike[str], field: str = "security.token_file") -> str:
    """What the file has, without whitespace at its end.

    Raises:
        InvalidArgumentError: it can't be read, or has no token: 1 to 8192 visible
            characters of ASCII.
    """
    token = _read(field, file).rstrip()
    if 0 < len(token) <= _MOST_TOKEN_BYTES and all(0x21 <= c <= 0x7E for c in token):
        return token.decode("ascii")
    raise invalid_argument(
        field,
        f"'{file}'",
        f"a file with a token: 1 to {_MOST_TOKEN_BYTES} visible characters on one line",
    )


def _check_pem(field: str, file: str | os.PathLike[str] | None, label: bytes) -> None:
    if file is None:
        return
    text = _read(field, file)
    if b"-----BEGIN " not in text or label + b"-----" not in text:
        accepted = f"a PEM file with a {label.decode()} in it"
        raise invalid_argument(field, f"'{file}'", accepted)


def _read(field: str, file: str | os.PathLike[str]) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        accepted = f"a file that can be read: {error.strerror}"
        refused: InvalidArgumentError = invalid_argument(field, f"'{file}'", accepted)
        raise refused from error

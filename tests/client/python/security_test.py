"""Tests of evenpack.security."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificates import Certificates
from evenpack import Client, PackedDataset, Security, TransportOptions
from evenpack.errors import InvalidArgumentError
from evenpack.security import read_token, security_for
from grpc import ssl_channel_credentials

FAR = "packer:7654"


@pytest.fixture
def whole(certificates: Certificates, tmp_path: Path) -> Security:
    """With everything that a Security can have."""
    token = tmp_path / "token"
    token.write_text("a-token\n")
    return Security(
        ca=certificates.pem("ca"),
        certificate=certificates.pem("client"),
        key=certificates.key("client"),
        server_name="packer.example",
        token_file=token,
    )


def test_what_fits_is_accepted(whole: Security) -> None:
    """With TLS to anywhere; a token alone to this machine."""
    whole.check(FAR)
    Security().check(FAR)
    Security(tls=True).check(FAR)
    for address in ("localhost:1", "127.0.0.1:1", "unix:/a", "[::1]:1"):
        Security(token_file=whole.token_file).check(address)


def test_what_does_not_fit_is_named(
    whole: Security, certificates: Certificates
) -> None:
    """The attribute, its value, and what would do."""
    missing = certificates.pem("missing")
    folder = missing.parent
    rows = [
        (replace(whole, key=None), "security.key: None"),
        (replace(whole, certificate=None), "security.certificate: None"),
        (replace(whole, ca=None), "security.certificate: '"),
        (Security(server_name="n"), "security.server_name: 'n'"),
        (Security(token_file=whole.token_file), "security.token_file: '"),
        (replace(whole, ca=missing), "security.ca: '.*missing.pem'.*No such file"),
        (replace(whole, ca=folder), "security.ca: '.*Is a directory"),
        (replace(whole, ca=whole.key), "security.ca: '.*CERTIFICATE"),
        (replace(whole, key=whole.certificate), "security.key: '.*PRIVATE KEY"),
        (replace(whole, token_file=missing), "security.token_file: '.*missing.pem'"),
    ]
    for security, message in rows:
        with pytest.raises(InvalidArgumentError, match=message):
            security.check(FAR)


@pytest.mark.parametrize(
    ("name", "value", "shown", "accepted"),
    [
        ("ca", 1, "1", "a str, or an os.PathLike of one"),
        ("certificate", b"a", "b'a'", "a str, or an os.PathLike of one"),
        ("key", True, "True", "a str, or an os.PathLike of one"),
        ("token_file", "a\0", "'a\\x00'", "a name that a file can have"),
        ("server_name", 1, "1", "a str"),
        ("tls", "1", "'1'", "True or False"),
        ("tls", None, "None", "True or False"),
    ],
)
def test_a_value_of_another_kind_is_named(
    name: str, value: object, shown: str, accepted: str
) -> None:
    """When it is made."""
    fields: dict[str, Any] = {name: value}
    with pytest.raises(InvalidArgumentError) as caught:
        Security(**fields)
    assert str(caught.value) == (
        f"security.{name}: {shown} is not accepted; accepted: {accepted}"
    )


def test_a_truth_of_numpy_turns_tls_on() -> None:
    given: Any = np.True_
    assert Security(tls=given).tls is True


def test_a_token_is_the_text_without_the_whitespace_at_its_end(tmp_path: Path) -> None:
    """What is none is refused and not shown."""
    file = tmp_path / "token"
    file.write_bytes(b"secret \r\n")
    assert read_token(file) == "secret"
    for text in (
        b"",
        b"\n",
        b"x" * 8193,
        b"secret two",
        b"secret\nb",
        b"secret\xc3\xa9",
    ):
        file.write_bytes(text)
        with pytest.raises(InvalidArgumentError, match="1 to 8192") as refused:
            read_token(file)
        assert "secret" not in str(refused.value)


def test_the_environment_stands_for_a_security_that_is_not_given(
    whole: Security, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is not looked at where one is."""
    assert security_for(FAR, None) == Security()
    monkeypatch.setenv("EVENPACK_TLS_CA", str(whole.ca))
    monkeypatch.setenv("EVENPACK_TLS_CERTIFICATE", str(whole.certificate))
    monkeypatch.setenv("EVENPACK_TLS_KEY", str(whole.key))
    monkeypatch.setenv("EVENPACK_TLS_SERVER_NAME", "packer.example")
    monkeypatch.setenv("EVENPACK_TOKEN_FILE", str(whole.token_file))
    monkeypatch.setenv("EVENPACK_TLS", "0")
    assert security_for(FAR, None) == replace(
        whole,
        ca=str(whole.ca),
        certificate=str(whole.certificate),
        key=str(whole.key),
        token_file=str(whole.token_file),
    )
    assert security_for(FAR, Security(tls=True)) == Security(tls=True)


def test_what_is_wrong_in_the_environment_is_named_as_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By everything that takes an address."""
    monkeypatch.setenv("EVENPACK_TLS", "yes")
    with pytest.raises(InvalidArgumentError, match="EVENPACK_TLS: 'yes'"):
        Client(FAR)
    monkeypatch.setenv("EVENPACK_TLS", "")
    monkeypatch.setenv("EVENPACK_TLS_CA", "/none")
    with pytest.raises(InvalidArgumentError, match="EVENPACK_TLS_CA: '/none'"):
        next(iter(PackedDataset(FAR, job="run")))


def test_credentials_of_grpcio_are_instead_of_a_security(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not beside it; the environment is for who gives neither."""
    options = TransportOptions(credentials=ssl_channel_credentials())
    with pytest.raises(InvalidArgumentError, match=r"security: one with options\."):
        Client(FAR, security=Security(tls=True), options=options)
    monkeypatch.setenv("EVENPACK_TLS_CA", "/none")
    Client(FAR, options=options)


def test_a_dataset_of_this_process_takes_none() -> None:
    """Since it talks to no server."""
    with pytest.raises(InvalidArgumentError, match="security"):
        PackedDataset(spec={}, lengths=[1], security=Security())

"""The package with a server that wants TLS and roles, and the tokens of each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import example_jobs
import pytest
from agent_process import AgentProcess
from certificates import Certificates
from evenpack import Client, PackedDataset, Security
from evenpack.corpora import LengthCorpus
from evenpack.errors import PermissionDeniedError, UnauthenticatedError
from evenpack.ingest import ingest
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(3000)


@dataclass(frozen=True)
class Secured:
    """A server, and how who has each part comes to it."""

    address: str
    ca: Path
    operator: Security
    producer: Security
    consumer: Security


def _flags(**files: Path) -> list[str]:
    return [
        part
        for name, file in files.items()
        for part in (f"--{name.replace('_', '-')}", str(file))
    ]


@pytest.fixture
def secured(certificates: Certificates, tmp_path: Path) -> Iterator[Secured]:
    """The operator comes by a certificate, the others by tokens."""
    grants = ["grants:", "- {role: operator, jobs: ['*'], subjects: ['CN=client']}"]
    for role in ("producer", "consumer"):
        (tmp_path / role).write_text(f"the-token-of-the-{role}\n")
        known = sha256(f"the-token-of-the-{role}".encode()).hexdigest()
        grants.append(f"- {{role: {role}, jobs: [run], tokens: ['{role}:{known}']}}")
    roles = tmp_path / "roles.yaml"
    roles.write_text("\n".join(grants) + "\n")
    ca = certificates.pem("ca")
    flags = _flags(
        tls_certificate=certificates.pem("server"),
        tls_key=certificates.key("server"),
        tls_client_ca=ca,
        tls_client_certificates=Path("request"),
        roles=roles,
    )
    with ServerProcess(*flags) as server:
        yield Secured(
            server.grpc_address,
            ca,
            Security(
                ca=ca,
                certificate=certificates.pem("client"),
                key=certificates.key("client"),
            ),
            Security(ca=ca, token_file=tmp_path / "producer"),
            Security(ca=ca, token_file=tmp_path / "consumer"),
        )


def _fed(secured: Secured) -> list[bytes]:
    """Makes the job, feeds it, and says what its digests are."""
    Client(secured.address, security=secured.operator).create_job(
        "run", example_jobs.spec()
    )
    client = Client(secured.address, security=secured.producer)
    with client.producer("run", "text") as producer:
        ingest(producer, LengthCorpus(DOCUMENTS))
    local = PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS)
    return [step.digest for step in local]


def test_each_part_is_done_by_who_has_its_role(secured: Secured) -> None:
    """And by nobody else."""
    expected = _fed(secured)
    with PackedDataset(
        secured.address, job="run", security=secured.consumer
    ) as dataset:
        assert [step.digest for step in dataset] == expected
        dataset.ack_durable()
    with pytest.raises(PermissionDeniedError):
        Client(secured.address, security=secured.consumer).delete_job("run")
    with pytest.raises(PermissionDeniedError):
        Client(secured.address, security=secured.consumer).producer("run", "text")
    with pytest.raises(PermissionDeniedError):
        next(iter(PackedDataset(secured.address, job="run", security=secured.producer)))
    with pytest.raises(UnauthenticatedError):
        Client(secured.address, security=Security(ca=secured.ca)).list_jobs()


def test_a_trainer_is_secured_by_its_environment(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program knows nothing of it."""
    expected = _fed(secured)
    monkeypatch.setenv("EVENPACK_TLS_CA", str(secured.ca))
    monkeypatch.setenv("EVENPACK_TOKEN_FILE", str(secured.consumer.token_file))
    with PackedDataset(secured.address, job="run", dp_rank=1) as dataset:
        assert len(list(dataset)) == len(expected)


def test_trainers_of_a_node_come_by_its_agent(secured: Secured, tmp_path: Path) -> None:
    """Which has the role that they need not have."""
    expected = _fed(secured)
    assert secured.consumer.token_file is not None
    flags = _flags(tls_ca=secured.ca, token_file=Path(secured.consumer.token_file))
    own = Security(token_file=secured.producer.token_file)
    socket = f"unix:{tmp_path / 'agent.sock'}"
    with (
        AgentProcess(secured.address, *flags, listen=socket, http=False),
        PackedDataset(socket, job="run") as dataset,
    ):
        assert [step.digest for step in dataset] == expected
        with pytest.raises(PermissionDeniedError):
            Client(socket, security=own).producer("run", "text")

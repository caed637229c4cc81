"""Each call of the API by each kind of caller: who may, and what others are told."""

from __future__ import annotations

import os
import re
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import grpc
import job_specs
from call_error import CallError, error_of
from evenpack.v1 import cost_profile_pb2, job_pb2
from evenpack.v1 import packing_service_pb2 as api
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from role_callers import (
    STREAMS,
    Caller,
    CallerCertificates,
    Connections,
    hash_of,
    temporary_folder,
    tls_flags,
)
from server_process import ServerProcess

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
# Of the jobs "mine-*", but for the administrator, who has all.
ROLES = {
    "producer": ("producer", "mine-*"),
    "consumer": ("consumer", "mine-*"),
    "operator": ("operator", "mine-*"),
    "other": ("operator", "other-*"),
    "administrator": ("operator", "*"),
}
# Consumers by the other names of a certificate: its subject, alternative names, and
# what the roles file has of them.
NAMED = {
    "whole": ("/O=a, b/CN=whole", "", r"CN=whole,O=a\, b"),
    "uri": ("/O=x", "URI:spiffe://cluster/ns/train", "spiffe://cluster/ns/train"),
    "dns": ("/O=x", "DNS:other.example,DNS:Trainer.example", "dns:trainer.EXAMPLE"),
}
EXISTING = "mine-job"
MISSING = "mine-none"


def token_of(name: str) -> str:
    """Whoever has a role has a token too."""
    return f"token-of-{name}"


ANY = ("producer", "consumer", "operator")
CONSUMERS = ("consumer", "operator")
OPERATORS = ("operator",)
ALL_JOBS = "*"
NO_JOB = ""


@dataclass(frozen=True)
class Rule:
    """Who may make a call, and what it answers then: about a job that isn't there."""

    roles: tuple[str, ...]
    code: str
    reason: str = ""
    # What ROLE_MISSING says is needed.
    needed: str = "operator"
    job: str = MISSING


def about_job(roles: tuple[str, ...], needed: str) -> Rule:
    """A call that names a job."""
    return Rule(roles, "NOT_FOUND", "JOB_NOT_FOUND", needed)


RULES = {
    "CreateJob": Rule(OPERATORS, "INVALID_ARGUMENT"),
    "GetJob": about_job(ANY, "any"),
    "ListJobs": Rule(ANY, "OK", needed="any", job=NO_JOB),
    "UpdateJob": about_job(OPERATORS, "operator"),
    "CheckpointJob": about_job(OPERATORS, "operator"),
    "RestoreJob": Rule(OPERATORS, "INVALID_ARGUMENT"),
    "RewindJob": about_job(OPERATORS, "operator"),
    "ForkJob": about_job(OPERATORS, "operator"),
    "SkipDocuments": about_job(OPERATORS, "operator"),
    "DeleteJob": about_job(OPERATORS, "operator"),
    "Ingest": about_job(("producer", "operator"), "producer"),
    "StreamSteps": about_job(CONSUMERS, "consumer"),
    "JoinGroup": about_job(CONSUMERS, "consumer"),
    "GetStep": about_job(CONSUMERS, "consumer"),
    "Acknowledge": about_job(CONSUMERS, "consumer"),
    "ReportLatency": about_job(CONSUMERS, "consumer"),
    "GetLatency": about_job(CONSUMERS, "consumer"),
    "ObserveJob": about_job(CONSUMERS, "consumer"),
    "ObserveMicroBatch": about_job(CONSUMERS, "consumer"),
    "PutCostProfile": Rule(OPERATORS, "INVALID_ARGUMENT", job=ALL_JOBS),
    "GetCostProfile": Rule(ANY, "NOT_FOUND", "PROFILE_NOT_FOUND", "any", NO_JOB),
    "ListCostProfiles": Rule(ANY, "OK", needed="any", job=NO_JOB),
    "DeleteCostProfile": Rule(
        OPERATORS, "NOT_FOUND", "PROFILE_NOT_FOUND", job=ALL_JOBS
    ),
}


METHODS = {
    method.name: method
    for service in (
        api.DESCRIPTOR.services_by_name["PackingService"],
        cost_profile_pb2.DESCRIPTOR.services_by_name["CostProfileService"],
    )
    for method in service.methods
}


def request_of(method: str, job: str) -> Message:
    """The first message of a call about a job, with nothing else in it."""
    if method == "Ingest":
        return api.IngestRequest(open=api.OpenIngest(job=job))
    if method == "StreamSteps":
        return api.StreamStepsRequest(subscribe=api.Subscribe(job=job))
    if method == "JoinGroup":
        return api.JoinGroupRequest(open=api.OpenGroup(job=job))
    if method == "ForkJob":
        return api.ForkJobRequest(name=job, new_name=job)
    kind = METHODS[method].input_type
    names = {"name", "job"} & set(kind.fields_by_name)
    request: Message = GetMessageClass(kind)(**dict.fromkeys(names, job))
    return request


def roles_text() -> str:
    """Each role for a certificate and for a token."""
    grants = [
        f"  - role: {role}\n    jobs: ['{jobs}']\n    subjects: ['CN={name}']\n"
        f"    tokens: ['{name}:{hash_of(token_of(name))}']\n"
        for name, (role, jobs) in ROLES.items()
    ]
    named = ", ".join(f"'{subject}'" for _, _, subject in NAMED.values())
    last = f"  - {{role: consumer, jobs: ['mine-*'], subjects: [{named}]}}\n"
    return "grants:\n" + "".join(grants) + last


class AccessTableTest(unittest.TestCase):
    connections: ClassVar[Connections]
    folder: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = temporary_folder(cls.enterClassContext)
        certificates = CallerCertificates(cls.folder)
        for name in (*ROLES, "nobody"):
            certificates.add(name, f"/CN={name}")
        for name, (subject, alternative, _) in NAMED.items():
            certificates.add(name, subject, alternative)
        roles = cls.folder / "roles.yaml"
        roles.write_text(roles_text())
        server = cls.enterClassContext(
            ServerProcess(*tls_flags(certificates), "--roles", f"{roles}")
        )
        cls.connections = Connections(server, certificates)
        cls.addClassCleanup(cls.connections.close)
        created = api.CreateJobRequest(name=EXISTING, spec=job_specs.small_spec())
        cls.connections.call(Caller("operator"), "CreateJob", created)

    def outcome(self, caller: Caller, method: str, job: str = MISSING) -> CallError:
        """How the call ends."""
        try:
            self.connections.call(caller, method, request_of(method, job))
        except grpc.RpcError as error:
            return error_of(error)
        return CallError("OK", "")

    def check(self, caller: Caller, *expected: str, method: str) -> None:
        """The code, and the reason where there is one, of a call."""
        with self.subTest(f"{method} by {caller}"):
            error = self.outcome(caller, method)
            reason = error.reason if len(expected) > 1 else ""
            self.assertEqual([error.code, reason], [*expected, ""][:2], error.message)

    def check_role(self, caller: Caller, names: tuple[str, ...], peer: str) -> None:
        """All calls of one who has these of ROLES."""
        for method, rule in RULES.items():
            granted = [
                name
                for name in names
                if ROLES[name][0] in rule.roles
                and (
                    rule.job == NO_JOB
                    or ROLES[name][1] == ALL_JOBS
                    or (rule.job == MISSING and ROLES[name][1] == "mine-*")
                )
            ]
            if granted:
                expected = [rule.code, rule.reason] if rule.reason else [rule.code]
                self.check(caller, *expected, method=method)
                continue
            self.check(caller, "PERMISSION_DENIED", "ROLE_MISSING", method=method)
            told = self.outcome(caller, method).metadata
            # A stream that has no such role for any job is refused before it names one.
            some = any(ROLES[name][0] in rule.roles for name in names)
            job = NO_JOB if method in STREAMS and not some else rule.job
            self.assertEqual(told, {"role": rule.needed, "job": job, "peer": peer})

    def test_every_call_of_the_api_is_in_the_table(self) -> None:
        self.assertEqual(sorted(RULES), sorted(METHODS))

    def test_the_document_has_the_same_table(self) -> None:
        text = (SOURCE / "docs/security.md").read_text(encoding="utf-8")
        documented = {
            method: role
            for methods, role in re.findall(
                r"^\| ([A-Za-z, ]+) \| (any|producer|consumer|operator) \| ", text, re.M
            )
            for method in methods.split(", ")
        }
        needed = {method: rule.needed for method, rule in RULES.items()}
        self.assertEqual(documented, needed)

    def test_a_certificate_has_the_roles_of_its_subject(self) -> None:
        for name in ROLES:
            self.check_role(Caller(name), (name,), f"CN={name}")

    def test_a_certificate_is_known_by_any_of_its_names(self) -> None:
        for name in NAMED:
            missing = ("NOT_FOUND", "JOB_NOT_FOUND")
            self.check(Caller(name), *missing, method="GetStep")
            denied = ("PERMISSION_DENIED", "ROLE_MISSING")
            self.check(Caller(name), *denied, method="Ingest")

    def test_a_token_has_the_roles_of_its_name(self) -> None:
        for name in ROLES:
            self.check_role(Caller(None, token_of(name)), (name,), f"token:{name}")

    def test_a_token_over_mtls_adds_its_roles(self) -> None:
        caller = Caller("producer", token_of("consumer"))
        self.check_role(caller, ("producer", "consumer"), "token:consumer")
        caller = Caller("nobody", token_of("operator"))
        self.check_role(caller, ("operator",), "token:operator")

    def test_a_certificate_without_a_role_may_do_nothing(self) -> None:
        for method in RULES:
            self.check(
                Caller("nobody"), "PERMISSION_DENIED", "ROLE_MISSING", method=method
            )

    def test_who_shows_nothing_is_nobody(self) -> None:
        for method in RULES:
            self.check(Caller(), "UNAUTHENTICATED", "NO_IDENTITY", method=method)

    def test_a_wrong_token_is_refused_with_and_without_a_right_certificate(
        self,
    ) -> None:
        for method in RULES:
            for certificate in (None, "administrator"):
                for token in ("wrong", hash_of(token_of("operator")), ""):
                    caller = Caller(certificate, token)
                    self.check(
                        caller, "UNAUTHENTICATED", "TOKEN_UNKNOWN", method=method
                    )

    def test_certificates_that_do_not_verify_do_not_connect(self) -> None:
        for method in RULES:
            for certificate in ("expired_client", "stranger"):
                for token in (None, token_of("administrator")):
                    caller = Caller(certificate, token)
                    self.check(caller, "UNAVAILABLE", method=method)

    def test_who_may_not_is_not_told_whether_a_job_is_there(self) -> None:
        for name in (*ROLES, "nobody"):
            for method in RULES:
                missing = self.outcome(Caller(name), method, MISSING)
                if missing.code != "PERMISSION_DENIED":
                    continue
                with self.subTest(f"{method} by {name}"):
                    there = self.outcome(Caller(name), method, EXISTING)
                    said = there.message.replace(EXISTING, MISSING)
                    self.assertEqual(there.code, "PERMISSION_DENIED")
                    self.assertEqual(said, missing.message)

    def test_a_fork_needs_both_names(self) -> None:
        for names in ((EXISTING, "other-a"), ("other-a", EXISTING)):
            request = api.ForkJobRequest(name=names[0], new_name=names[1])
            for name in ("operator", "other"):
                with self.assertRaises(grpc.RpcError) as caught:
                    self.connections.call(Caller(name), "ForkJob", request)
                error = error_of(caught.exception)
                lacked = "other-a" if name == "operator" else EXISTING
                self.assertEqual(error.reason, "ROLE_MISSING")
                self.assertEqual(error.metadata["job"], lacked)

    def test_a_list_has_the_jobs_that_one_has_a_role_for(self) -> None:
        admin = Caller("administrator")
        spec: job_pb2.JobSpec = job_specs.small_spec()
        # Pages of two in which others' jobs come first, between and last.
        for name in ("a", "mine-2", "mine-3", "n", "other-1", "z"):
            request = api.CreateJobRequest(name=name, spec=spec)
            self.connections.call(admin, "CreateJob", request)
        try:
            expected = {
                "producer": [["mine-2", "mine-3"], [EXISTING]],
                "other": [["other-1"]],
            }
            for name, pages in expected.items():
                self.assertEqual(self.pages_of(Caller(name)), pages)
            self.assertEqual(sum(len(page) for page in self.pages_of(admin)), 7)
        finally:
            for name in ("a", "mine-2", "mine-3", "n", "other-1", "z"):
                self.connections.call(
                    admin, "DeleteJob", api.DeleteJobRequest(name=name)
                )

    def pages_of(self, caller: Caller) -> list[list[str]]:
        """The names that a caller is shown, by pages of two."""
        pages, token = [], ""
        while True:
            request = api.ListJobsRequest(page_size=2, page_token=token)
            (page,) = self.connections.call(caller, "ListJobs", request)
            assert isinstance(page, api.ListJobsResponse)
            pages.append([job.name for job in page.jobs])
            token = page.next_page_token
            if not token:
                return pages


if __name__ == "__main__":
    unittest.main()

"""Texts of values that YAML would read as something else stay what they are."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
from api_schema_test import OPERATORS, RELEASES, sidecar_pod
from chart import Object, containers_of, pod_of, render, the

# All names that values have, here of digits.
DIGITS = "007"
WORKERS = "agent.enabled=true,sidecar.enabled=true"
MONITORS = "metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true"
NAMES = (
    *("nameOverride", "serviceAccount.name", "client.caSecret"),
    *("server.priorityClassName", "agent.priorityClassName"),
    *("imagePullSecrets[0].name", "image.registry"),
    *("server.image.repository", "agent.image.repository"),
    *("sidecar.image.repository", "test.image.repository"),
    *(
        f"{component}.identity.{name}"
        for component in ("agent", "sidecar", "test")
        for name in ("certificateSecret", "tokenSecret", "tokenKey")
    ),
)
SECRET = ("tls.existingSecret",)
# Values that hold for a rendering, and the names in it beside NAMES.
RENDERINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "tls.clientCertificates=request",
        (*SECRET, "tls.clientCaSecret", "store.sqlite.storageClass"),
    ),
    (
        "tls.certManager.enabled=true,agent.expose=hostPort",
        (
            *("tls.certManager.issuerRef.name", "store.sqlite.existingClaim"),
            *("roles.existingConfigMap", "store.sqlite.size"),
        ),
    ),
    (
        "store.kind=postgresql,store.postgresql.target=dbname=a,agent.expose=socket,"
        "agent.socketFolder=/packer:",
        (
            *(*SECRET, "roles.existingSecret", "store.postgresql.existingSecret"),
            *("store.postgresql.caSecret", "store.postgresql.secretKey"),
        ),
    ),
)
# Fields that hold a text in objects of operators, which have no schema here.
TEXTS = {"name", "namespace", "secretName", "matchNames", "matchLabels", "dnsNames"}

ADDRESS = "[fd00::1]:7654"


def texts(value: Any, field: str = "") -> Iterator[Any]:  # noqa: ANN401
    """What the fields TEXTS hold, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from texts(each, field if field in TEXTS else name)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each, field)
    elif field in TEXTS:
        yield value


def argument(pod: Object, flag: str) -> str:
    """What follows a flag of a pod's first container."""
    given: list[str] = next(containers_of(pod))["args"]
    return given[given.index(flag) + 1]


def pod(objects: list[Object], kind: str, name: str | None = None) -> Object:
    """The pod of the one object of a kind, and perhaps name."""
    found = pod_of(the(objects, kind, name))
    assert found is not None
    return found


class NamesTest(unittest.TestCase):
    def check(self, each: Object) -> None:
        if each["kind"] in OPERATORS:
            for text in texts(each):
                self.assertIsInstance(text, str, each)
            return
        try:
            kubernetes_validate.validate(each, RELEASES[-1], strict=True)
        except kubernetes_validate.ValidationError as error:
            where = (each["kind"], each["metadata"]["name"], list(error.path))
            self.fail(f"{where}: {error.message}")

    def test_names_of_digits_stay_texts(self) -> None:
        """And the objects' own, a word that YAML takes for another type."""
        for values, names in RENDERINGS:
            flags = ["--set", f"{WORKERS},{MONITORS},{values}"]
            flags += ["--set-string", "fullnameOverride=true"]
            for name in (*NAMES, *names):
                flags += ["--set-string", f"{name}={DIGITS}"]
            objects = render(flags, release="42", namespace="123456")
            for each in objects:
                self.check(each)
                self.assertEqual(each["metadata"]["namespace"], "123456")
            self.check(sidecar_pod(pod(objects, "ConfigMap", "true-worker-sidecar")))
            monitor = the(objects, "ServiceMonitor")["spec"]
            self.assertEqual(
                monitor["namespaceSelector"], {"matchNames": ["123456"]}, values
            )
            labels = monitor["selector"]["matchLabels"]
            self.assertEqual(labels["app.kubernetes.io/name"], DIGITS)
            self.assertEqual(labels["app.kubernetes.io/instance"], "42")


class AddressTest(unittest.TestCase):
    def test_clients_of_an_address_of_ipv6(self) -> None:
        elsewhere = f"server.enabled=false,externalServer={ADDRESS}"
        # Without an agent's Service, sidecars go to the server themselves.
        flags = ["--set", f"{WORKERS},agent.expose=hostPort,{elsewhere}"]
        objects = render(flags)
        sidecar = pod(objects, "ConfigMap", "evenpack-worker-sidecar")
        for client in (pod(objects, "DaemonSet"), sidecar):
            self.assertEqual(argument(client, "--server"), ADDRESS)
        environment = next(containers_of(pod(objects, "Pod")))["env"]
        self.assertIn({"name": "EVENPACK_SERVER", "value": ADDRESS}, environment)

    def test_servers_at_an_address_of_ipv6(self) -> None:
        database = "store.kind=postgresql,store.postgresql.target=dbname=evenpack"
        for address in (ADDRESS, "[$(POD_IP)]:7654"):
            objects = render(["--set", f"{database},server.advertise={address}"])
            server = pod(objects, "StatefulSet")
            self.assertEqual(argument(server, "--advertise"), address)

    def test_a_registry_at_an_address_of_ipv6(self) -> None:
        objects = render(["--set", "image.registry=[fd00::1]:5000"])
        image = next(containers_of(pod(objects, "StatefulSet")))["image"]
        self.assertRegex(image, r"\A\[fd00::1\]:5000/evenpack-server:")


if __name__ == "__main__":
    unittest.main()

"""Values that the chart refuses, and what it says."""

from __future__ import annotations

import unittest

from chart import RefusedError, render

# --set of values, and what the message names.
REFUSED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "store.kind=postgresql",
        ("store.kind: 'postgresql'", "accepted: sqlite, memory"),
    ),
    ("store.kind=disk", ("/store/kind", "'sqlite', 'memory'")),
    ("store.sqlite.size=large", ("/store/sqlite/size", "'large'")),
    ("store.sqlite.accessModes={ReadWriteMany}", ("accessModes/0", "'ReadWriteOnce'")),
    ("server.replicas=2", ("/server/replicas", "maximum: got 2, want 1")),
    ("server.ports.grpc=0", ("/server/ports/grpc", "minimum: got 0, want 1")),
    ("server.ports.http=70000", ("/server/ports/http", "maximum")),
    ("server.config.bogus=1", ("/server/config", "'bogus' not allowed")),
    ("server.config.listen=0.0.0.0:1", ("/server/config", "'listen' not allowed")),
    ("server.config.max-jobs=0", ("/server/config/max-jobs", "minimum: got 0, want 1")),
    ("server.config.log-level=loud", ("/server/config/log-level", "'warning'")),
    ("server.drainSeconds=-1", ("/server/drainSeconds", "minimum")),
    ("server.bindAddress=localhost", ("/server/bindAddress", "'localhost'")),
    ("server.image.tag=a b", ("/server/image/tag", "'a b'")),
    ("server.image.digest=sha256:12", ("/server/image/digest", "'sha256:12'")),
    ("server.imaje.tag=1", ("/server", "'imaje' not allowed")),
    ("bogus=1", ("additional properties 'bogus' not allowed",)),
    ("fullnameOverride=Packer", ("/fullnameOverride", "'Packer'")),
    ("imagePullSecrets={registry}", ("/imagePullSecrets/0", "want object")),
    ("podDisruptionBudget.maxUnavailable=2", ("/podDisruptionBudget", "maximum")),
    ("networkPolicy.clients[0].pods=all", ("/networkPolicy/clients/0", "'pods'")),
    ("certificate.enabled=true", ("certificate.issuerRef.name: ''", "issuer")),
    ("certificate.issuerRef.kind=CA", ("/certificate/issuerRef/kind", "'Issuer'")),
    ("agent.expose=nodePort", ("/agent/expose", "'hostPort'")),
    ("agent.maxStepsAhead=0", ("/agent/maxStepsAhead", "minimum: got 0, want 1")),
    ("agent.memory=much", ("/agent/memory", "'much'")),
    ("agent.socketFolder=run", ("/agent/socketFolder", "'run'")),
    ("sidecar.ranksPerPod=0", ("/sidecar/ranksPerPod", "minimum: got 0, want 1")),
    ("sidecar.trainerUser=root", ("/sidecar/trainerUser", "want null or integer")),
    (
        "server.enabled=false,agent.enabled=true",
        ("externalServer: ''", "accepted: HOST:PORT"),
    ),
    (
        "server.enabled=false,sidecar.enabled=true",
        ("externalServer: ''", "accepted: HOST:PORT"),
    ),
    ("externalServer=packer", ("/externalServer", "'packer'")),
    ("metrics.serviceMonitor.interval=often", ("interval", "'often'")),
)


class RejectionTest(unittest.TestCase):
    def test_what_is_refused_is_named(self) -> None:
        for values, says in REFUSED:
            with (
                self.subTest(values),
                self.assertRaises(RefusedError, msg=values) as caught,
            ):
                render(["--set", values])
            for part in says:
                self.assertIn(part, str(caught.exception), values)

    def test_old_releases_of_kubernetes_are_refused(self) -> None:
        with self.assertRaises(RefusedError) as caught:
            render(["--kube-version", "1.26.0"])
        self.assertIn("requires kubeVersion: >=1.27.0-0", str(caught.exception))
        self.assertTrue(render(["--kube-version", "1.27.3-cloud.1"]))


if __name__ == "__main__":
    unittest.main()

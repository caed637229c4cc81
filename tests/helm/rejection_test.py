"""Values that the chart refuses, and what it says."""

from __future__ import annotations

import unittest

from chart import RefusedError, render

# --set of values, and what the message names.
REFUSED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "store.kind=postgresql",
        ("store.postgresql.target: ''", "accepted: how libpq reaches"),
    ),
    (
        "store.kind=postgresql,store.postgresql.target=/var/lib/store",
        ("store.postgresql.target: not accepted", "accepted: postgresql://USER"),
    ),
    ("store.kind=disk", ("/store/kind", "'sqlite', 'memory'")),
    ("store.sqlite.size=large", ("/store/sqlite/size", "'large'")),
    ("store.sqlite.accessModes={ReadWriteMany}", ("accessModes/0", "'ReadWriteOnce'")),
    ("server.replicas=3", ("server.replicas: 3", "sqlite", "store.kind postgresql")),
    ("server.replicas=2,store.kind=memory", ("server.replicas: 2", "memory")),
    ("server.replicas=101", ("/server/replicas", "maximum: got 101, want 100")),
    ("server.advertise=packer", ("/server/advertise", "'packer'")),
    ("server.ports.grpc=0", ("/server/ports/grpc", "minimum: got 0, want 1")),
    ("server.ports.http=70000", ("/server/ports/http", "maximum")),
    (
        "server.ports.health=7654",
        ("server.ports.health: 7654", "accepted: one of its own"),
    ),
    (
        "agent.enabled=true,agent.ports.http=7654",
        ("agent.ports.http: 7654", "accepted: one of its own"),
    ),
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
    ("certificate.enabled=true", ("additional properties 'certificate'",)),
    ("tls.certManager.enabled=true", ("tls.certManager.issuerRef.name: ''", "issuer")),
    (
        "tls.certManager.enabled=true,tls.certManager.issuerRef=null",
        ("tls.certManager.issuerRef.name: ''", "issuer"),
    ),
    ("tls.certManager.issuerRef.kind=CA", ("/issuerRef/kind", "'Issuer'")),
    (
        "tls.certManager.enabled=true,tls.existingSecret=mine",
        ("tls.existingSecret: 'mine'", "accepted: one of the two"),
    ),
    ("tls.certManager.duration=90d", ("/tls/certManager/duration", "'90d'")),
    ("tls.existingSecret=My_Secret", ("/tls/existingSecret", "'My_Secret'")),
    ("tls.clientCertificates=maybe", ("/tls/clientCertificates", "'require'")),
    (
        "tls.clientCertificates=require",
        ("tls.clientCertificates: 'require'", "accepted: none"),
    ),
    (
        "tls.existingSecret=mine,tls.clientCaSecret=ca",
        ("tls.clientCaSecret: 'ca'", "accepted: with request or require"),
    ),
    ("roles.existingSecret=mine", ("roles: not accepted", "tls.existingSecret")),
    (
        "tls.existingSecret=mine,roles.existingSecret=a,roles.existingConfigMap=b",
        ("existingConfigMap and existingSecret together", "accepted: one of"),
    ),
    ("roles.grants[0].role=admin", ("/roles/grants/0/role", "'operator'")),
    ("roles.grants[0].role=operator", ("/roles/grants/0", "'jobs'")),
    (
        "roles.grants[0].role=operator,roles.grants[0].tokens[0]=a-token",
        ("/roles/grants/0/tokens/0",),
    ),
    ("client.caSecret=ca", ("client.caSecret: 'ca'", "accepted: with tls")),
    (
        "agent.enabled=true,agent.identity.tokenSecret=mine",
        ("agent.identity: not accepted", "without TLS"),
    ),
    ("test.identity.certificateSecret=mine", ("test.identity: not accepted",)),
    (
        "sidecar.enabled=true,sidecar.identity.tokenSecret=mine",
        ("sidecar.identity: not accepted",),
    ),
    ("sidecar.identity.tokenKey=a b", ("/sidecar/identity/tokenKey", "'a b'")),
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
    (
        "server.enabled=false,agent.enabled=true,externalServer=null",
        ("externalServer: ''", "accepted: HOST:PORT"),
    ),
    ("externalServer=packer", ("/externalServer", "'packer'")),
    ("metrics.serviceMonitor.interval=often", ("interval", "'often'")),
    ("metrics.serviceMonitor.interval=1s1m", ("interval", "'1s1m'")),
    ("metrics.serviceMonitor.interval=", ("interval", "minLength: got 0, want 1")),
    (
        "metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.scrapeTimeout=16s",
        (
            "metrics.serviceMonitor.scrapeTimeout: '16s' is not accepted",
            "where interval is '15s'; accepted: at most that, or ''",
        ),
    ),
    (
        "agent.enabled=true,metrics.podMonitor.enabled=true,"
        "metrics.podMonitor.interval=1m,metrics.podMonitor.scrapeTimeout=1m1ms",
        ("metrics.podMonitor.scrapeTimeout: '1m1ms'", "interval is '1m'"),
    ),
    (
        "sidecar.enabled=true,metrics.podMonitor.enabled=true,"
        "metrics.podMonitor.scrapeTimeout=08h",
        ("metrics.podMonitor.scrapeTimeout: '08h'", "interval is '15s'"),
    ),
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

    def test_a_release_whose_name_no_service_can_have_says_so(self) -> None:
        for release in ("7b", "a.b"):
            with self.subTest(release), self.assertRaises(RefusedError) as caught:
                render(release=release)
            self.assertIn(f"'{release}-evenpack'", str(caught.exception))
            self.assertIn("fullnameOverride", str(caught.exception))
            render(["--set", "fullnameOverride=packer"], release=release)

    def test_a_password_in_a_target_is_refused_and_not_repeated(self) -> None:
        for target in (
            "postgresql://evenpack:open-sesame@db.example/evenpack",
            "postgresql://evenpack@db.example/evenpack?password=open-sesame",
            "postgres://evenpack:open-sesame@db.example/evenpack",
            "postgresql://evenpack:open-sesame/and/more@db.example/evenpack",
            "host=db.example password=open-sesame",
            "password = open-sesame",
            "host=db.example sslpassword=open-sesame",
            "host=db.example\tpassword\t= open-sesame",
            "host=db.example\vpassword\v= open-sesame",
            "host=db.example options='a'password=open-sesame",
            "host=db.example options='a'sslpassword=open-sesame",
            "postgresql://evenpack:open?sesame@db.example/evenpack",
            "postgresql://evenpack:open-sesame?@db.example/evenpack",
        ):
            values = f"store.kind=postgresql,store.postgresql.target={target}"
            with self.subTest(target), self.assertRaises(RefusedError) as caught:
                render(["--set", values])
            self.assertIn("with a password is not accepted", str(caught.exception))
            self.assertNotIn("open-sesame", str(caught.exception))

    def test_a_parameter_whose_name_is_encoded_is_refused(self) -> None:
        for query in (
            "%70assword=open-sesame",
            "sslmode=require&passwor%64=open-sesame",
            "sslmode=require&ssl%70assword=open-sesame",
            "options=\n&%70assword=open-sesame",
        ):
            target = f"postgresql://evenpack@db.example/evenpack?{query}"
            values = f"store.kind=postgresql,store.postgresql.target={target}"
            with self.subTest(target), self.assertRaises(RefusedError) as caught:
                render(["--set", values])
            self.assertIn("'%' in a parameter's name", str(caught.exception))
            self.assertNotIn("open-sesame", str(caught.exception))

    def test_targets_without_a_password_are_rendered(self) -> None:
        for target in (
            "postgresql://even%20pack@db.example:5432/even%70ack?application_name=a%20b",
            "postgresql://db.example:5432/evenpack?user=a@b&sslmode=require",
            "postgresql:///evenpack?host=%2Frun%2Fa&options=a?b%20c",
            "host=db.example application_name='?%70=' options='a'dbname=evenpack",
        ):
            values = f"store.kind=postgresql,store.postgresql.target={target}"
            self.assertTrue(render(["--set", values]), target)

    def test_what_is_no_target_is_not_repeated(self) -> None:
        for target in (
            "Postgresql://evenpack:open-sesame@db.example/evenpack",
            "postgresql://evenpack:open sesame@db.example/evenpack",
            "postgresql:postgresql://evenpack:open-sesame@db.example/evenpack",
            "mysql://evenpack:open-sesame@db.example/evenpack",
            "open-sesame",
        ):
            values = f"store.kind=postgresql,store.postgresql.target={target}"
            with self.subTest(target), self.assertRaises(RefusedError) as caught:
                render(["--set", values])
            self.assertIn("store.postgresql.target", str(caught.exception))
            self.assertNotIn("sesame", str(caught.exception))

    def test_old_releases_of_kubernetes_are_refused(self) -> None:
        with self.assertRaises(RefusedError) as caught:
            render(["--kube-version", "1.26.0"])
        self.assertIn("requires kubeVersion: >=1.27.0-0", str(caught.exception))
        self.assertTrue(render(["--kube-version", "1.27.3-cloud.1"]))
        sidecar = ["--set", "sidecar.enabled=true", "--kube-version"]
        with self.assertRaises(RefusedError) as caught:
            render([*sidecar, "1.28.9"])
        self.assertIn("sidecar: not accepted on Kubernetes", str(caught.exception))
        self.assertTrue(render([*sidecar, "1.29.0-cloud.1"]))


if __name__ == "__main__":
    unittest.main()

"""Who may connect to whom, by the network policies."""

from __future__ import annotations

import json
import unittest
from typing import Any

from chart import Object, render, the, values_flags

GRPC, HTTP = 7654, 7655


class NetworkPolicyTest(unittest.TestCase):
    def sources(self, *flags: str) -> dict[int, Any]:
        """Who may connect to each port; None: everybody."""
        return self.peers(the(render(flags), "NetworkPolicy"))

    def peers(self, policy: Object) -> dict[int, Any]:
        return {
            port["port"]: rule.get("from")
            for rule in policy["spec"]["ingress"]
            for port in rule["ports"]
        }

    def test_by_default_the_namespace_may_connect(self) -> None:
        namespace: Object = {"podSelector": {}}
        sources = self.sources()
        self.assertIn(namespace, sources[GRPC])
        self.assertEqual(sources[HTTP], [namespace])

    def test_agents_and_the_tests_pod_reach_a_server_of_other_namespaces(self) -> None:
        trainers: Object = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
        clients = f"networkPolicy.clients=[{json.dumps(trainers)}]"
        objects = render(["--set-json", clients, "--set", "agent.enabled=true"])
        (own, others) = self.peers(the(objects, "NetworkPolicy", "evenpack"))[GRPC]
        self.assertEqual(others, trainers)
        agents = the(objects, "DaemonSet")["spec"]["template"]
        for pod in (agents, the(objects, "Pod")):
            selected = own["podSelector"]["matchLabels"].items()
            self.assertLessEqual(selected, pod["metadata"]["labels"].items())

    def test_a_server_reaches_its_database(self) -> None:
        for values, types in (
            (None, ["Ingress", "Egress"]),
            ("secure", ["Ingress"]),
            ("mutual", ["Ingress", "Egress"]),
        ):
            policy = the(render(values_flags(values)), "NetworkPolicy", "evenpack")
            self.assertEqual(policy["spec"]["policyTypes"], types, values)

    def test_no_peer_is_everybody(self) -> None:
        sources = self.sources("--set-json", "networkPolicy.clients=[]")
        self.assertEqual(sources, {GRPC: None, HTTP: [{"podSelector": {}}]})

    def test_ports_are_numbers(self) -> None:
        """Names are all ports to some network plugins."""
        ports = "agent.ports.grpc=7754,server.ports.http=1"
        objects = render(["--set", f"agent.enabled=true,{ports}"])
        for name, has in (("evenpack", {GRPC, 1}), ("evenpack-agent", {7754, HTTP})):
            policy = the(objects, "NetworkPolicy", name)
            self.assertEqual(self.peers(policy).keys(), has)


if __name__ == "__main__":
    unittest.main()

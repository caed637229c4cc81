"""Every pod fits the Pod Security Standard `restricted`, but for those named here."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from chart import MATRIX, Object, containers_of, pod_of, render, values_flags

# Volumes that `restricted` has.
VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
    *("persistentVolumeClaim", "projected", "secret"),
}

# What each rule finds in a pod and in one of its containers. The standard's rules, and
# that no program can write beside its volumes or has a token of the API.
PodRule = Callable[[Object], bool]
POD_RULES: dict[str, PodRule] = {
    "hostNetwork": lambda pod: not pod.get("hostNetwork"),
    "hostPID": lambda pod: not pod.get("hostPID"),
    "hostIPC": lambda pod: not pod.get("hostIPC"),
    "volumes": lambda pod: all(
        set(volume) - {"name"} <= VOLUMES for volume in pod.get("volumes", ())
    ),
    "runAsNonRoot": lambda pod: pod["securityContext"]["runAsNonRoot"] is True,
    "runAsUser": lambda pod: pod["securityContext"]["runAsUser"] == 10001,
    "seccompProfile": lambda pod: (
        pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    ),
    "token": lambda pod: pod["automountServiceAccountToken"] is False,
}
CONTAINER_RULES: dict[str, PodRule] = {
    "hostPort": lambda container: (
        not any("hostPort" in port for port in container.get("ports", ()))
    ),
    "privileged": lambda container: not container["securityContext"].get("privileged"),
    "allowPrivilegeEscalation": lambda container: (
        container["securityContext"]["allowPrivilegeEscalation"] is False
    ),
    "capabilities": lambda container: (
        container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    ),
    "readOnlyRootFilesystem": lambda container: (
        container["securityContext"]["readOnlyRootFilesystem"] is True
    ),
    "memory limit": lambda container: "memory" in container["resources"]["limits"],
    "requests": lambda container: (
        {"cpu", "memory"} <= set(container["resources"]["requests"])
    ),
}
# (values, object, rule) that is broken, on purpose and documented.
BROKEN = {
    ("agent_host_port", "evenpack-agent", "hostPort"),
    ("agent_socket", "evenpack-agent", "volumes"),
}
# The rest of a trainer's pod is not the chart's.
OF_THE_SNIPPET = {"volumes"}


class PodSecurityTest(unittest.TestCase):
    def broken_rules(self, each: Object, pod: Object) -> set[str]:
        """By an object's pods."""
        snippet = each["kind"] == "ConfigMap"
        rules: dict[str, Any] = {
            name: rule
            for name, rule in POD_RULES.items()
            if not snippet or name in OF_THE_SNIPPET
        }
        broken = {name for name, rule in rules.items() if not rule(pod)}
        containers = list(containers_of(pod))
        self.assertTrue(containers, each["metadata"])
        for container in containers:
            broken |= {
                name for name, rule in CONTAINER_RULES.items() if not rule(container)
            }
        return broken

    def test_every_pod_is_restricted(self) -> None:
        found = set()
        pods = 0
        for values in MATRIX:
            for each in render(values_flags(values)):
                pod = pod_of(each)
                if pod is None:
                    continue
                pods += 1
                name = each["metadata"]["name"]
                found |= {(values, name, rule) for rule in self.broken_rules(each, pod)}
        self.assertEqual(found, BROKEN)
        self.assertGreater(pods, 15)

    def test_a_rule_can_be_broken(self) -> None:
        for values, rule in (
            ("podSecurityContext.runAsNonRoot=false", "runAsNonRoot"),
            ("podSecurityContext.runAsUser=0", "runAsUser"),
            ("podSecurityContext.seccompProfile.type=Unconfined", "seccompProfile"),
            ("containerSecurityContext.privileged=true", "privileged"),
            (
                "containerSecurityContext.allowPrivilegeEscalation=true",
                "allowPrivilegeEscalation",
            ),
            ("containerSecurityContext.capabilities.add={IPC_LOCK}", "capabilities"),
            (
                "containerSecurityContext.readOnlyRootFilesystem=false",
                "readOnlyRootFilesystem",
            ),
            ("server.resources.limits=null", "memory limit"),
        ):
            shown = "templates/server/statefulset.yaml"
            flags = ["--set", values, "--show-only", shown]
            try:
                broken = self.broken_rules(*self.only(flags))
            except KeyError as missing:
                broken = {"memory limit"} if "limits" in str(missing) else set()
            self.assertEqual(broken, {rule}, values)

    def only(self, flags: list[str]) -> tuple[Object, Object]:
        (each,) = render(flags)
        pod = pod_of(each)
        assert pod is not None
        return each, pod


if __name__ == "__main__":
    unittest.main()

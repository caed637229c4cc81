"""The Dockerfile and compose.yaml, read: what they ask for is there."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path
from typing import Any

from compose_file import (
    COMPOSE_FILE,
    NOT_OURS,
    SERVERS_FILE,
    SOURCE,
    own_services,
    read_compose,
)
from dockerfile import chain, read_stages

DOCKERFILE = SOURCE / "deploy/docker/Dockerfile"
IMAGES = ("server", "worker", "worker-cuda", "client", "demo")
PROGRAM_OF = {
    "server": os.environ["EVENPACK_SERVER_PROGRAM"],
    "worker": os.environ["EVENPACK_WORKER_PROGRAM"],
}
KNOWN = {"RUN", "COPY", "ENV", "LABEL", "USER", "VOLUME", "EXPOSE"}
KNOWN |= {"STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def project_version() -> str:
    """The version that the programs have."""
    text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(evenpack VERSION (\S+)", text)
    assert found is not None
    return found.group(1)


def servers_of(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services that are evenpack-server."""
    return {
        name: each
        for name, each in own_services(compose).items()
        if each["build"]["target"] == "server"
    }


def flags_of(service: dict[str, Any]) -> dict[str, str]:
    """What a service is started with."""
    return dict(each.split("=", 1) for each in service["command"])


class DockerfileTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stages = read_stages(DOCKERFILE)

    def test_hadolint_finds_nothing(self) -> None:
        hadolint = SOURCE / "build-test-venv/bin/hadolint"
        done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_every_step_is_a_script_of_this_repository(self) -> None:
        for stage in self.stages.values():
            for step in stage.all_of("RUN"):
                with self.subTest(stage=stage.name, step=step.rest):
                    script, *_ = step.words()
                    self.assertNotRegex(step.rest, r"[;&|]")
                    where = "/deploy/" if "mount" in step.flags else "/source/deploy/"
                    self.assertTrue(script.startswith(where), script)
                    path = SOURCE / "deploy" / script.removeprefix(where)
                    self.assertTrue(os.access(path, os.X_OK), path)

    def test_what_is_copied_is_there(self) -> None:
        for stage in self.stages.values():
            self.assertLessEqual({each.name for each in stage.instructions}, KNOWN)
            for copied in stage.all_of("COPY"):
                *names, _ = copied.words()
                if (of := copied.flags.get("from")) is not None:
                    self.assertIn(of, self.stages)
                    continue
                for name in names:
                    found = name == "." or [*SOURCE.glob(name)]
                    self.assertTrue(found, name)

    def test_images_start_one_program_as_a_user_without_rights(self) -> None:
        for image in IMAGES:
            with self.subTest(image=image):
                stages = chain(self.stages, image)
                stage = stages[-1]
                user = stage.last("USER")
                assert user is not None
                self.assertEqual(user.rest, "10001:10001")
                for name in ("ENTRYPOINT", "CMD"):
                    said = stage.last(name)
                    assert said is not None
                    self.assertTrue(said.is_exec_form())
                labels = " ".join(
                    each.rest for below in stages for each in below.all_of("LABEL")
                )
                for label in ("title", "description", "version", "licenses"):
                    self.assertIn(f"org.opencontainers.image.{label}=", labels)
                self.assertIn(f'.version="{project_version()}"', labels)

    def test_bases_are_pinned(self) -> None:
        for stage in self.stages.values():
            if stage.base not in self.stages:
                self.assertRegex(stage.base, r":\d[\w.-]*$")

    def test_scripts_say_how_they_are_called(self) -> None:
        for script in (
            "deploy/docker/build.sh",
            "deploy/docker/build_cuda.sh",
            "deploy/docker/install_runtime.sh",
            "deploy/install_cudnn_frontend.sh",
            "deploy/make_worker_bundle.sh",
        ):
            done = subprocess.run([SOURCE / script], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{script} ", done.stderr)


class ComposeTest(unittest.TestCase):
    files: tuple[Path, ...] = (COMPOSE_FILE,)

    def setUp(self) -> None:
        self.compose = read_compose(*self.files)
        self.services = self.compose["services"]

    def test_every_service_has_no_more_rights_than_it_needs(self) -> None:
        for name, service in self.services.items():
            with self.subTest(service=name):
                self.assertTrue(service["read_only"])
                self.assertEqual(service["cap_drop"], ["ALL"])
                options = service["security_opt"]
                self.assertEqual(options, ["no-new-privileges:true"])
                self.assertNotIn("privileged", service)
                for port in service.get("ports", []):
                    self.assertEqual(port["host_ip"], "127.0.0.1")
                if name not in NOT_OURS:
                    self.assertEqual(service["user"], "10001:10001")

    def test_images_are_built_from_the_stages_at_this_version(self) -> None:
        for name, service in own_services(self.compose).items():
            with self.subTest(service=name):
                build = service["build"]
                self.assertEqual(Path(build["context"]), SOURCE)
                self.assertEqual(build["dockerfile"], "deploy/docker/Dockerfile")
                tagged = f"evenpack-{build['target']}:{project_version()}"
                self.assertEqual(service["image"], tagged)
                self.assertIn(build["target"], IMAGES)
        for name in set(NOT_OURS) & set(self.services):
            self.assertRegex(self.services[name]["image"], r":v?\d+(\.\d+){1,2}$")

    def test_programs_know_the_flags(self) -> None:
        for name, service in own_services(self.compose).items():
            program = PROGRAM_OF.get(service["build"]["target"])
            if program is None:
                continue
            shown = subprocess.run([program, "--help"], capture_output=True, text=True)
            for flag in service["command"]:
                with self.subTest(service=name, flag=flag):
                    known = re.escape(flag.partition("=")[0])
                    self.assertRegex(shown.stdout, rf"(?m)^ +{known}\b")

    def test_who_is_waited_for_tells_its_health(self) -> None:
        for name, service in self.services.items():
            for other, how in service.get("depends_on", {}).items():
                with self.subTest(service=name, depends_on=other):
                    if how["condition"] == "service_healthy":
                        self.assertIn("healthcheck", self.services[other])
                    else:
                        once = self.services[other]["restart"]
                        self.assertEqual(once, "on-failure")

    def test_a_server_has_longer_to_end_than_it_drains(self) -> None:
        for server in servers_of(self.compose).values():
            flags = flags_of(server)
            grace = int(server["stop_grace_period"].rstrip("s"))
            self.assertGreater(grace, int(flags["--drain-seconds"]))

    def test_mounted_files_are_there(self) -> None:
        for service in self.services.values():
            for volume in service.get("volumes", []):
                if volume["type"] == "bind":
                    with self.subTest(path=volume["source"]):
                        self.assertTrue(Path(volume["source"]).exists())
                        self.assertTrue(volume["read_only"])

    def test_prometheus_scrapes_services_of_the_file(self) -> None:
        config = SOURCE / "deploy/prometheus/prometheus.yml"
        text = config.read_text(encoding="utf-8")
        scraped = re.findall(r'"([\w-]+):\d+"', text)
        self.assertIn("server", scraped)
        self.assertLessEqual(set(scraped), set(self.services))

    def test_the_file_is_read_by_people(self) -> None:
        for file in self.files:
            self.assertLess(len(file.read_text(encoding="utf-8").split("\n")), 200)


class SeveralServersTest(ComposeTest):
    """The same of three servers on a database, and what they need beside it."""

    files = (COMPOSE_FILE, SERVERS_FILE)

    def test_each_is_advertised_by_its_own_name(self) -> None:
        servers = servers_of(self.compose)
        self.assertEqual(set(servers), {"server", "server-1", "server-2"})
        for name, server in servers.items():
            self.assertEqual(flags_of(server)["--advertise"], f"{name}:7654")

    def test_they_share_the_database_and_are_alike_but_for_names_and_ports(
        self,
    ) -> None:
        def kept(server: dict[str, Any]) -> dict[str, Any]:
            flags = {**flags_of(server), "--advertise": ""}
            return {**server, "command": flags, "ports": len(server["ports"])}

        servers = [kept(each) for each in servers_of(self.compose).values()]
        self.assertEqual(servers, [servers[0]] * 3)
        store = servers[0]["command"]["--store"]
        user = self.services["database"]["environment"]["POSTGRES_USER"]
        self.assertEqual(store, f"postgresql://{user}@database/{user}")
        self.assertNotIn("volumes", servers[0])
        self.assertIn("database", servers[0]["depends_on"])

    def test_prometheus_scrapes_all_of_them(self) -> None:
        (mount,) = [
            each
            for each in self.services["prometheus"]["volumes"]
            if each["target"] == "/etc/prometheus/servers"
        ]
        config = SOURCE / "deploy/prometheus/prometheus.yml"
        self.assertIn("files: [servers/*.yml]", config.read_text(encoding="utf-8"))
        (file,) = Path(mount["source"]).glob("*.yml")
        text = file.read_text(encoding="utf-8")
        scraped = set(re.findall(r'"([\w-]+):7655"', text))
        self.assertEqual(scraped | {"server"}, set(servers_of(self.compose)))


if __name__ == "__main__":
    unittest.main()

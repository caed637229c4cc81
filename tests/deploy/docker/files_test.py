"""The Dockerfile and compose.yaml, read: what they ask for is there."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

from compose_file import COMPOSE_FILE, NOT_OURS, SOURCE, own_services, read_compose
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
        for name in ("build.sh", "build_cuda.sh", "install_runtime.sh"):
            script = SOURCE / "deploy/docker" / name
            done = subprocess.run([script], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"deploy/docker/{name} ", done.stderr)


class ComposeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.compose = read_compose()
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
        for name in NOT_OURS:
            self.assertRegex(self.services[name]["image"], r":v?\d+\.\d+\.\d+$")

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
        server = self.services["server"]
        flags = dict(each.split("=", 1) for each in server["command"])
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
        self.assertLess(len(COMPOSE_FILE.read_text(encoding="utf-8").split("\n")), 200)


if __name__ == "__main__":
    unittest.main()

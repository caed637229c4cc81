"""The images' roots, and their programs in containers without privileges."""

from __future__ import annotations

import json
import subprocess
import sys
import unittest
from pathlib import Path

from container import ROOTS, Container, Containers, Start, run_to_end
from image_roots import SOURCE

PROGRAMS = {
    "server": ["evenpack-server"],
    "worker": ["evenpack-worker"],
    "client": ["evenpackctl"],
    "demo": ["evenpackctl", "evenpack-demo-trainer"],
}
# Of a base of 80 MiB.
MOST_MIB_ABOVE_BASE = {"server": 60, "worker": 110, "client": 80, "demo": 90}
# What a program can be built or traced with.
TOOLS = ["cc", "gcc", "g++", "c++", "ld", "as", "make", "python3", "gdb", "curl", "git"]
# Where clients of the containers' network find it.
SERVER = {"EVENPACK_SERVER": "localhost:7654"}
# Of every Debian system.
OF_BASE = {"libc6", "libgcc-s1", "libstdc++6"}


def in_root(image: str, *command: str) -> str:
    """What a command in the root prints."""
    done = subprocess.run(
        ["chroot", ROOTS / image, *command], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout


def listed_packages(section: str) -> list[str]:
    """The packages of a section of deploy/packages.txt."""
    text = (SOURCE / "deploy/packages.txt").read_text(encoding="utf-8")
    after = text.split(f"[{section}]", 1)[1].split("\n[", 1)[0]
    lines = [line.partition("#")[0].split() for line in after.splitlines()]
    return [words[0] for words in lines if words]


def owner(image: str, library: str) -> str:
    """The package that has a library which a program names."""
    paths = in_root(image, "/sbin/ldconfig", "-p").splitlines()
    path = next(line.split(" => ")[1] for line in paths if line.split()[0] == library)
    real = in_root(image, "readlink", "-f", path).strip()
    # Packages of before /usr was merged know their files without it.
    for name in (real, real.removeprefix("/usr")):
        found = subprocess.run(
            ["chroot", ROOTS / image, "dpkg", "--search", name],
            capture_output=True,
            text=True,
        )
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    raise AssertionError(f"{library} ({real}) is no package's")


def needed(image: str) -> set[str]:
    """The packages whose libraries the image's programs name."""
    owners = set()
    for program in PROGRAMS[image]:
        path = ROOTS / image / "usr/local/bin" / program
        dynamic = subprocess.run(
            ["readelf", "--dynamic", path], capture_output=True, text=True, check=True
        ).stdout
        for line in dynamic.splitlines():
            if "(NEEDED)" in line:
                owners.add(owner(image, line.split("[")[1].rstrip("]")))
    return owners - OF_BASE


class RootTest(unittest.TestCase):
    def test_programs_find_all_their_libraries(self) -> None:
        for image, programs in PROGRAMS.items():
            for program in programs:
                with self.subTest(program=program):
                    found = in_root(image, "ldd", f"/usr/local/bin/{program}")
                    self.assertIn("libgrpc++.so", found)
                    self.assertNotIn("not found", found)

    def test_every_listed_package_is_needed(self) -> None:
        for image in PROGRAMS:
            with self.subTest(image=image):
                listed = set(listed_packages(f"{image}-runtime"))
                self.assertGreater(len(listed), 0)
                self.assertLessEqual(listed, needed(image))

    def test_nothing_to_build_with_is_there(self) -> None:
        for image in PROGRAMS:
            with self.subTest(image=image):
                root = ROOTS / image
                folders = ["usr/bin", "usr/sbin", "usr/local/bin"]
                there = [
                    name
                    for name in TOOLS
                    if any((root / folder / name).exists() for folder in folders)
                ]
                self.assertEqual(there, [])
                names = in_root(image, "dpkg-query", "-W", "-f", "${Package}\n")
                packages = names.split()
                self.assertEqual([n for n in packages if n.endswith("-dev")], [])
                self.assertEqual([*(root / "var/lib/apt/lists").iterdir()], [])
                self.assertEqual([*root.glob("var/cache/apt/archives/*.deb")], [])

    def test_is_small(self) -> None:
        sizes = json.loads((ROOTS / "sizes.json").read_text(encoding="utf-8"))
        for image, most in MOST_MIB_ABOVE_BASE.items():
            with self.subTest(image=image):
                above = (sizes[image] - sizes["debian"]) / (1 << 20)
                print(f"{image}: {sizes[image] >> 20} MiB, {above:.0f} above the base")
                self.assertLess(above, most)

    def test_runs_as_a_user_without_rights_and_a_shell(self) -> None:
        for image in PROGRAMS:
            with self.subTest(image=image):
                entry = in_root(image, "getent", "passwd", "10001").strip()
                self.assertTrue(entry.startswith("evenpack:x:10001:10001:"), entry)
                self.assertTrue(entry.endswith(":/usr/sbin/nologin"), entry)
                config = Start(image).config()
                self.assertEqual(config["user"], "10001:10001")

    def test_another_user_passes_through_a_workers_folder_alone(self) -> None:
        """As a worker does in a pod that has a user of its own."""
        for image, folder, passed in (
            ("worker", "/run/evenpack", True),
            ("server", "/var/lib/evenpack", False),
        ):
            for may, access in ((passed, "-x"), (False, "-r"), (False, "-w")):
                other = ["chroot", "--userspec=1000:1000", str(ROOTS / image)]
                done = subprocess.run([*other, "test", access, folder])
                self.assertEqual(done.returncode == 0, may, (image, access))


class ContainerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.containers = self.enterContext(Containers())

    def run_client(self, *flags: str) -> str:
        start = Start("client", command=flags, environment=SERVER)
        status, out, errors = run_to_end(self.containers.network, start)
        self.assertEqual(status, 0, errors)
        return out

    def start_server(self, store: Path) -> Container:
        start = Start("server", volumes={"/var/lib/evenpack": store})
        started = Container(self.containers.network, start)
        self.addCleanup(lambda: started.__exit__(None, None, None))
        started.await_health(start.config()["health"])
        return started

    def test_nothing_but_the_volumes_can_be_written(self) -> None:
        script = (
            "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status;"
            " for d in / /etc /usr/local/bin /var/lib/evenpack /tmp; do"
            ' if (: >"$d/a") 2>/dev/null; then echo "$d"; fi; done'
        )
        store = self.containers.volume("store", "server", "/var/lib/evenpack")
        shell = Start(
            "server",
            entrypoint=["/bin/sh", "-c", script],
            volumes={"/var/lib/evenpack": store},
        )
        status, out, errors = run_to_end(self.containers.network, shell)
        self.assertEqual(status, 0, errors)
        none = "0" * 16
        self.assertEqual(
            " ".join(out.split()),
            f"10001 CapEff: {none} CapBnd: {none} NoNewPrivs: 1 /var/lib/evenpack /tmp",
        )

    def test_serves_a_client_drains_and_keeps_its_jobs(self) -> None:
        store = self.containers.volume("store", "server", "/var/lib/evenpack")
        server = self.start_server(store)
        shape = ["--streams", "web", "--window", "1000"]
        self.run_client("jobs", "create", "run", *shape)
        lengths = self.containers.folder / "lengths"
        lengths.mkdir()
        (lengths / "a.txt").write_text("500\n" * 20, encoding="utf-8")
        stream = ["--stream", "web", "--end-of-stream"]
        ingest = Start(
            "client",
            command=["ingest", "--job", "run", *stream, "--lengths", "/mnt/a.txt"],
            environment=SERVER,
            volumes={"/mnt": lengths},
        )
        status, _, errors = run_to_end(self.containers.network, ingest)
        self.assertEqual(status, 0, errors)
        steps = self.run_client("follow", "--job", "run", "--dp-rank", "0", "--json")
        tokens = [
            micro_batch["tokens"]
            for line in steps.splitlines()
            for micro_batch in json.loads(line)["micro_batches"]
        ]
        self.assertEqual(sum(tokens), 20 * 500)
        self.assertEqual(server.stop("SIGTERM"), 0, server.stderr())
        self.assertIn("draining because=SIGTERM", server.stderr())
        server = self.start_server(store)
        told = json.loads(self.run_client("jobs", "describe", "run", "--json"))
        self.assertEqual(told["streams"][0]["next_sequence"], 20)
        self.assertEqual(server.stop("SIGTERM"), 0, server.stderr())

    def test_the_health_check_tells_a_server_that_is_away(self) -> None:
        server = Start("server")
        check = ["/usr/local/bin/evenpack-http-check", "127.0.0.1", "7655", "/readyz"]
        asked = Start("server", entrypoint=check)
        self.assertEqual(check[1:], server.config()["health"][1:])
        self.assertNotEqual(run_to_end(self.containers.network, asked)[0], 0)
        store = self.containers.volume("store", "server", "/var/lib/evenpack")
        self.start_server(store)
        self.assertEqual(run_to_end(self.containers.network, asked)[0], 0)
        nowhere = Start("server", entrypoint=[*check[:3], "/nowhere"])
        self.assertEqual(run_to_end(self.containers.network, nowhere)[0], 1)

    def test_the_worker_tests_itself(self) -> None:
        start = Start("worker", command=["--selftest", "--cases", "20"])
        status, out, errors = run_to_end(self.containers.network, start)
        self.assertEqual(status, 0, errors)
        self.assertIn("20", out)

    def test_a_client_that_follows_is_stopped_by_the_images_signal(self) -> None:
        store = self.containers.volume("store", "server", "/var/lib/evenpack")
        self.start_server(store)
        self.run_client("jobs", "create", "run", "--streams", "a", "--window", "1000")
        follow = Start(
            "client",
            command=["follow", "--job", "run", "--dp-rank", "0"],
            environment=SERVER,
        )
        with Container(self.containers.network, follow) as client:
            metrics = "evenpack_job_subscribers"
            script = (
                "exec 3<>/dev/tcp/127.0.0.1/7655; printf 'GET /metrics HTTP/1.0\\r\\n"
                f"\\r\\n' >&3; grep -q '^{metrics}{{job=\"run\"}} 1' <&3"
            )
            client.await_health(["bash", "-c", script])
            # It ends within the deadline.
            client.stop(str(follow.config()["stop_signal"]))


if __name__ == "__main__":
    if not ROOTS.exists():
        print("SKIPPED: image_roots.py made no roots here")
        sys.exit(77)
    unittest.main()

"""The bundle of the worker, taken to another place, as to another machine."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
BUILD = Path(os.environ["EVENPACK_WORKER_PROGRAM"]).parent.parent
MOST_BYTES = 40 << 20
# What belongs to the machine.
OF_GLIBC = re.compile(r"(ld-linux|lib(c|m|dl|rt|pthread|resolv)\.so|linux-vdso)\S*")


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command with little of this machine's environment."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=170,
        env={"PATH": os.environ["PATH"], **environment},
    )


class WorkerBundleTest(unittest.TestCase):
    folder: Path
    bundle: Path
    archive_bytes: int

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        archive = cls.folder / "worker.tar.xz"
        # Four times as fast; what xz makes of it by default is smaller.
        made = run(SOURCE / "deploy/make_worker_bundle.sh", BUILD, archive, XZ_OPT="-1")
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        cls.archive_bytes = archive.stat().st_size
        run("tar", "-C", cls.folder, "-xf", archive).check_returncode()
        cls.bundle = cls.folder / "evenpack-worker-bundle"

    def test_is_small_enough(self) -> None:
        self.assertLess(self.archive_bytes, MOST_BYTES)
        self.assertGreater(self.archive_bytes, 1 << 20)

    def test_every_program_finds_its_libraries_in_the_bundle(self) -> None:
        programs = [*(self.bundle / "libexec").iterdir()]
        self.assertGreater(len(programs), 4)
        for program in programs:
            listed = run(
                program,
                LD_TRACE_LOADED_OBJECTS="1",
                LD_LIBRARY_PATH=str(self.bundle / "lib"),
            ).stdout
            found = re.findall(r"^\s*(\S+) => (.*) \(0x", listed, re.MULTILINE)
            self.assertGreater(len(found), 3, listed)
            self.assertNotIn("not found", listed)
            for name, path in found:
                if not OF_GLIBC.fullmatch(name):
                    self.assertTrue(path.startswith(str(self.bundle)), f"{name} {path}")

    def test_leaves_out_what_comes_with_the_driver(self) -> None:
        names = [each.name for each in (self.bundle / "lib").iterdir()]
        for name in names:
            self.assertNotRegex(name, r"^lib(cuda|nccl|cudnn|nvrtc|c\.so)")
        self.assertIn("libstdc++.so.6", names)

    def test_its_worker_runs(self) -> None:
        worker = self.bundle / "bin/evenpack-worker"
        tested = run(worker, "--selftest", "--cases", "5")
        self.assertEqual(tested.returncode, 0, tested.stderr)
        self.assertEqual(run(worker, "--selftest", "--cases", "0").returncode, 2)

    def test_a_link_of_another_name_runs_the_program_that_it_leads_to(self) -> None:
        link = self.folder / "worker"
        link.symlink_to(self.bundle / "bin/evenpack-worker")
        tested = run(link, "--selftest", "--cases", "5")
        self.assertEqual(tested.returncode, 0, tested.stderr)

    def test_its_checks_make_one_table(self) -> None:
        cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
        if re.search(r"^EVENPACK_NVCC:\w+=.*NOTFOUND$", cache, re.MULTILINE):
            self.skipTest("built without nvcc: there are no kernels to check")
        checks = self.bundle / "tests/gpu/run.sh"
        # A device, as far as the program can tell.
        doubles = {
            "EVENPACK_CUDA_DRIVER": str(BUILD / "tests/libfake_cuda.so"),
            "EVENPACK_NCCL": str(BUILD / "tests/libfake_nccl.so"),
        }
        table = run(checks, "--gpu-only", **doubles)
        self.assertEqual(table.returncode, 0, table.stdout + table.stderr)
        rows = re.findall(r"^passed +gpu_check (\S+)", table.stdout, re.MULTILINE)
        last = table.stdout.splitlines()[-1]
        self.assertRegex(last, rf"^{len(rows)} passed, 0 failed, [0-9]+ skipped$")
        self.assertGreater(len(rows), 4)

    def test_a_bench_that_fails_is_counted(self) -> None:
        # A device, as far as run.sh can tell.
        told = self.folder / "told"
        told.mkdir()
        (told / "nvidia-smi").symlink_to("/bin/true")
        table = run(
            self.bundle / "tests/gpu/run.sh",
            "--gpu-only",
            EVENPACK_CUDA_DRIVER="/nowhere/libcuda.so",
            PATH=f"{told}:{os.environ['PATH']}",
        )
        self.assertEqual(table.returncode, 1, table.stdout + table.stderr)
        for bench in ("gpu_ring_bench", "gpu_attention_bench"):
            self.assertRegex(table.stdout, rf"(?m)^FAILED +{bench} ")

    def test_checks_without_a_device_are_skipped_and_not_passed(self) -> None:
        checks = self.bundle / "tests/gpu/run.sh"
        table = run(checks, "--gpu-only", EVENPACK_CUDA_DRIVER="/nowhere/libcuda.so")
        self.assertEqual(table.returncode, 0, table.stdout + table.stderr)
        self.assertRegex(table.stdout, r"0 passed, 0 failed, \d+ skipped\n$")
        self.assertEqual(run(checks, "--what").returncode, 2)

    def test_a_folder_without_programs_is_refused(self) -> None:
        script = SOURCE / "deploy/make_worker_bundle.sh"
        archive = self.folder / "none.tar.xz"
        refused = run(script, self.folder, archive)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("bin/evenpack-worker is missing", refused.stderr)
        for arguments in ([], [self.folder], [BUILD, self.folder / "a.zip"]):
            self.assertEqual(run(script, *arguments).returncode, 2)
        self.assertFalse(archive.exists())


if __name__ == "__main__":
    unittest.main()

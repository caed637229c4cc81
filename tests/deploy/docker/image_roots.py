"""Makes the roots of the images without a container engine, as a Dockerfile's reader.

    image_roots.py DOCKERFILE PROGRAMS OUT

Each runtime stage that comes from Debian becomes a folder OUT/STAGE, beside
OUT/STAGE.json with what the image says of its start. RUN is done in a chroot, with the
mounts that it names; COPY copies, from a build stage the programs in folders of the
folder PROGRAMS, stripped. The base is what debootstrap makes, without documents as the
slim image has it. OUT/sizes.json has the bytes of roots, and of the base ("debian").
Exit status 77: not possible here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from dockerfile import Instruction, Stage, read_stages
from namespaces import mount_flags, why_not

NOT_POSSIBLE = 77
# Each behind the one that it is made from.
IMAGES = ("server", "worker", "client", "demo")
SOURCE = Path(__file__).resolve().parents[3]
# What Debian's slim image leaves out, and no waiting for the disk.
DPKG_OPTIONS = """force-unsafe-io
path-exclude /usr/share/doc/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
"""
# The tests' tree has the trainer under another name.
PROGRAM_NAMES = {"evenpack-demo-trainer": "sidecar_trainer"}


@dataclass
class ImageConfig:
    """What an image says of how it starts."""

    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"
    health: list[str] = field(default_factory=list)


def run(*command: str | Path) -> None:
    """A command whose output is shown where it fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}")


def mirror() -> str:
    """Where this machine's apt has packages of Debian 12 from; empty: not known."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(CODENAME) $(SITE)"],
        capture_output=True,
        text=True,
    ).stdout
    sites = [line.split()[1] for line in listed.splitlines() if "bookworm " in line]
    return sites[0] if sites else ""


def make_base(root: Path) -> None:
    """Debian 12 as its slim image."""
    site = [found] if (found := mirror()) else []
    run("debootstrap", "--variant=minbase", "bookworm", root, *site)
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(DPKG_OPTIONS, encoding="utf-8")
    for name in ("doc", "info", "locale", "man"):
        shutil.rmtree(root / "usr/share" / name, ignore_errors=True)
    # An engine mounts its own there.
    for name in ("hosts", "resolv.conf", "hostname"):
        (root / "etc" / name).touch()
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    # How this machine reaches the archive.
    acquire = subprocess.run(
        ["apt-config", "dump", "Acquire"], capture_output=True, text=True
    ).stdout
    (root / "etc/apt/apt.conf.d/90machine").write_text(acquire, encoding="utf-8")


def do_run(root: Path, instruction: Instruction) -> None:
    """RUN, with one folder of the source mounted as it says."""
    mount = dict(
        part.split("=", 1) for part in instruction.flags["mount"].split(",") if part
    )
    target = root / mount["target"].lstrip("/")
    target.mkdir(parents=True)
    script = (
        'mount --bind "$0" "$1" && mount -t proc proc "$2/proc" && shift &&'
        ' exec chroot "$@"'
    )
    source = SOURCE / mount["source"]
    words = instruction.words()
    mounting = ["unshare", *mount_flags(), "bash", "-c", script]
    run(*mounting, source, target, root, *words)
    target.rmdir()


def program_of(folder: Path, path: str) -> Path:
    """A program of a build stage, in a folder of what was built."""
    name = Path(path).name
    for each in (name, PROGRAM_NAMES.get(name, name)):
        if found := [*folder.glob(f"*/{each}")]:
            return found[0]
    raise SystemExit(f"{folder}/*/{name} is missing; build it first")


def do_copy(root: Path, instruction: Instruction, programs: Path) -> None:
    """COPY: files of the source, or programs of a build stage."""
    *names, to = instruction.words()
    target = root / to.lstrip("/")
    for name in names:
        if "from" in instruction.flags:
            run("strip", "--strip-all", "-o", target, program_of(programs, name))
            continue
        for file in sorted(SOURCE.glob(name)):
            into = target / file.name if to.endswith("/") else target
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, into)


def note(config: ImageConfig, instruction: Instruction) -> None:
    """Keeps what an instruction says of the start."""
    match instruction.name:
        case "USER":
            config.user = instruction.rest
        case "ENTRYPOINT":
            config.entrypoint = instruction.words()
        case "CMD":
            config.command = instruction.words()
        case "STOPSIGNAL":
            config.stop_signal = instruction.rest
        case "HEALTHCHECK":
            config.health = json.loads(instruction.rest.removeprefix("CMD "))


def make_image(root: Path, stage: Stage, below: ImageConfig, programs: Path) -> None:
    """Does in a copy of what is below what the stage does; changes `below` likewise."""
    for instruction in stage.instructions:
        if instruction.name == "RUN":
            do_run(root, instruction)
        elif instruction.name == "COPY":
            do_copy(root, instruction, programs)
        else:
            note(below, instruction)


def size(root: Path) -> int:
    """Bytes of the files below a folder, as the disk has them."""
    counted = subprocess.run(
        ["du", "--summarize", "--block-size=1", root], capture_output=True, text=True
    )
    return int(counted.stdout.split()[0])


def main(arguments: list[str]) -> int:
    """Makes all of them anew."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    dockerfile, programs, out = map(Path, arguments)
    if reason := why_not():
        print(f"SKIPPED: images can't be made here: {reason}")
        return NOT_POSSIBLE
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    base = out / "debian"
    make_base(base)
    sizes = {}
    stages = read_stages(dockerfile)
    made: dict[str, ImageConfig] = {}
    for name in IMAGES:
        below = stages[name].base
        from_root = out / below if below in made else base
        made[name] = replace(made.get(below, ImageConfig()))
        run("cp", "--archive", "--reflink=auto", from_root, out / name)
        make_image(out / name, stages[name], made[name], programs)
        config = json.dumps(asdict(made[name]))
        (out / f"{name}.json").write_text(config, encoding="utf-8")
        sizes[name] = size(out / name)
    for cache in ("var/lib/apt/lists", "var/cache/apt", "var/log"):
        shutil.rmtree(base / cache)
    sizes["debian"] = size(base)
    shutil.rmtree(base)
    (out / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")
    print(sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Builds the package with scikit-build-core.

Its sdist has what it needs of the repository around it.

The module of C++ is made of the engine's and the client's sources, which lie beside
this package's folder and not in it. An sdist gets them as `source/`; CMakeLists.txt
takes those, where they are, and the repository's else.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scikit_build_core import build as backend
from scikit_build_core.build import (
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

# PEP 517's and 660's functions: scikit-build-core's, but for the sdist.
__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

PACKAGE = Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[1]
# As cmake/PythonModule.cmake has them.
WORKER_ROOMS = (
    "attention",
    "communicator",
    "device",
    "cuda",
    "cudnn",
    "nccl",
    "rank_form",
    "rendezvous",
    "executor",
    "steps",
    "arena",
    "device_arena",
    "attach",
    "sidecar_client",
)
# Folders of the repository that the modules are made of.
PARTS = (
    "CMakeLists.txt",
    "LICENSE",
    "cmake",
    "proto",
    "server/CMakeLists.txt",
    "server/core",
    "server/runtime",
    "server/payload",
    "server/sessions",
    "server/service",
    "client/cpp",
    "client/python/bindings",
    *(f"gpu_worker/{room}" for room in WORKER_ROOMS),
)


@contextmanager
def _repository_sources() -> Iterator[None]:
    source = PACKAGE / "source"
    if source.exists():  # this is an sdist itself
        yield
        return
    try:
        for part in PARTS:
            origin, copy = REPOSITORY / part, source / part
            copy.parent.mkdir(parents=True, exist_ok=True)
            if origin.is_dir():
                shutil.copytree(origin, copy)
            else:
                shutil.copy2(origin, copy)
        yield
    finally:
        shutil.rmtree(source, ignore_errors=True)


def build_sdist(
    sdist_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    """As PEP 517 has it."""
    with _repository_sources():
        return backend.build_sdist(sdist_directory, config_settings)

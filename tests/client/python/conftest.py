"""What the tests of the Python package share: a real server."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest
from certificates import Certificates
from server_process import ServerProcess

# Ranks and loaders' workers are forked off a process that has imported PyTorch and done
# nothing else: some three seconds once, and not for each.
multiprocessing.set_forkserver_preload(["evenpack.sharded_attention"])


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server of the test's own."""
    with ServerProcess() as process:
        yield process


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Made once for all tests."""
    return Certificates(tmp_path_factory.mktemp("certificates"))

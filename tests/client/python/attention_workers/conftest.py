"""What the tests of workers share."""

from __future__ import annotations

import example_attention
import pytest
from server_process import ServerProcess


@pytest.fixture
def served(server: ServerProcess) -> ServerProcess:
    """With the job "run" of two context-parallel ranks and a few small steps."""
    example_attention.create_job(server)
    return server

"""What `import evenpack` gives, and what it doesn't import."""

from __future__ import annotations

import subprocess
import sys

import evenpack
import pytest

# Prints whether PyTorch is imported after what it is given.
_IS_IMPORTED = "{0}; import sys; print('torch' in sys.modules)"


@pytest.mark.parametrize(
    ("program", "imported"),
    [
        ("import evenpack; evenpack.Client", False),
        ("import evenpack.ingest, evenpack.corpora.jsonl_lengths", False),
        ("import evenpack; evenpack.PackedDataset", True),
        ("from evenpack import attention", True),
    ],
)
def test_pytorch_is_imported_by_what_needs_it(program: str, imported: bool) -> None:
    """Who feeds a job or counts lengths doesn't wait for it."""
    run = subprocess.run(
        [sys.executable, "-c", _IS_IMPORTED.format(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.stdout == f"{imported}\n", run.stderr


def test_a_name_that_there_is_not_is_named() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match=r"'evenpack' has no attribute 'dataset_'"):
        evenpack.dataset_  # noqa: B018


def test_a_name_is_the_same_each_time() -> None:
    """Also for `isinstance`."""
    from evenpack.dataset import PackedDataset

    assert evenpack.PackedDataset is PackedDataset
    assert evenpack.PackedDataset is evenpack.PackedDataset

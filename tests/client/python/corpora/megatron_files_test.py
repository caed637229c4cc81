"""Indexed datasets as Megatron-Core itself writes and reads them."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from evenpack.corpora import IndexedDataset, IndexedDatasetWriter
from example_corpora import random_documents
from numpy.typing import DTypeLike

with warnings.catch_warnings():
    # It warns of kernels that it doesn't find.
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch")
    megatron = pytest.importorskip("megatron.core.datasets.indexed_dataset")

DOCUMENTS = random_documents(60, seed=3)


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_what_megatron_wrote_is_read(tmp_path: Path, kind: DTypeLike) -> None:
    """Documents of one or two sequences, and some without a token."""
    builder = megatron.IndexedDatasetBuilder(str(tmp_path / "a.bin"), dtype=kind)
    for i, document in enumerate(DOCUMENTS):
        cut = len(document) // 2 if i % 3 == 0 else len(document)
        for sequence in (document[:cut], document[cut:]):
            if sequence:
                builder.add_item(torch.tensor(sequence))
        builder.end_document()
        if i % 10 == 0:
            builder.end_document()
    builder.finalize(str(tmp_path / "a.idx"))
    dataset = IndexedDataset(tmp_path / "a")
    assert dataset.token_type == np.dtype(kind)
    read = [dataset.tokens(i).tolist() for i in range(len(dataset))]
    assert read == DOCUMENTS


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_what_was_written_megatron_reads(tmp_path: Path, kind: DTypeLike) -> None:
    """A sequence for each document."""
    with IndexedDatasetWriter(tmp_path / "a", kind) as writer:
        for document in DOCUMENTS:
            writer.add(document)
    theirs = megatron.IndexedDataset(str(tmp_path / "a"))
    assert [theirs[i].tolist() for i in range(len(theirs))] == DOCUMENTS
    assert theirs.document_indices.tolist() == list(range(len(DOCUMENTS) + 1))


def test_evenpackctl_counts_the_same(tmp_path: Path) -> None:
    """Of a file that Megatron wrote."""
    builder = megatron.IndexedDatasetBuilder(str(tmp_path / "a.bin"), dtype=np.int32)
    for document in DOCUMENTS:
        builder.add_item(torch.tensor(document))
        builder.end_document()
    builder.finalize(str(tmp_path / "a.idx"))
    command = [
        os.environ["EVENPACKCTL"],
        "pack",
        "--idx",
        str(tmp_path / "a"),
        "--policy",
        "original",
    ]
    shape = ["--micro-batches", "2", "--window", "64", "--json"]
    run = subprocess.run(
        [*command, *shape], capture_output=True, text=True, check=True, timeout=60
    )
    report = json.loads(run.stdout)
    assert report["documents_in"] == len(DOCUMENTS)
    assert report["tokens_in"] == sum(map(len, DOCUMENTS))

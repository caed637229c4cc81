"""Real text that every machine has: the docstrings of Python's standard library.

The launcher writes them once as an indexed dataset, of which every rank reads the
tokens of its micro-batches. Tokens are bytes.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from evenpack.corpora import (
    ByteTokenizer,
    IndexedDataset,
    IndexedDatasetWriter,
    LengthCorpus,
)
from numpy.typing import NDArray

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _docstrings() -> Iterator[str]:
    """In the order of the modules' names, and of the lines within a module."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        tree = ast.parse(path.read_bytes())
        nodes = [node for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)]
        for node in sorted(nodes, key=lambda node: getattr(node, "lineno", 0)):
            text = ast.get_docstring(node)
            # Nothing is to be predicted in a document of one token.
            if text is not None and len(text) > 1:
                yield text


def write_documents(prefix: Path, documents: int, longest: int) -> None:
    """Writes PREFIX.bin and PREFIX.idx.

    Args:
        prefix: path of the files without their endings.
        documents: how many.
        longest: tokens at which a document is cut.

    Raises:
        ValueError: the standard library has fewer docstrings.
    """
    texts = list(islice(_docstrings(), documents))
    if len(texts) < documents:
        raise ValueError(
            f"documents: {documents} is not accepted; accepted: 1 to {len(texts)}, the "
            "docstrings of the standard library"
        )
    with IndexedDatasetWriter(prefix, np.uint8) as writer:
        for tokens in ByteTokenizer().encode(texts):
            writer.add(tokens[:longest])


def document_lengths(corpus: IndexedDataset) -> NDArray[np.uint32]:
    """Tokens of each document."""
    return corpus.read(np.arange(len(corpus))).lengths


def packed_documents(corpus: IndexedDataset) -> LengthCorpus:
    """What the packing is told of the documents: nothing predicts a first token."""
    lengths = document_lengths(corpus)
    return LengthCorpus(lengths, loss_tokens=lengths - 1)

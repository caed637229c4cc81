"""Corpora: documents by number, lengths for the server, tokens for trainers.

    from evenpack.corpora import Blend, IndexedDataset, Shuffle, gather
    from evenpack.ingest import ingest

    web = Shuffle(IndexedDataset("data/web"), seed=1)
    code = Shuffle(IndexedDataset("data/code"), seed=2)
    text = Blend([web, code], [0.8, 0.2])

    ingest(client.producer("run-7", "text"), text)      # once, anywhere
    tokens = gather(micro_batch, [text], cp_rank=1)     # on every rank

A corpus must be opened with the same arguments in both places.
"""

from evenpack.corpora.blend import Blend
from evenpack.corpora.concatenation import Concatenation
from evenpack.corpora.corpus import (
    Corpus,
    HasBarriers,
    LeavesDocuments,
    RandomAccess,
    RandomAccessCorpus,
    TokenCorpus,
)
from evenpack.corpora.fields import Fields
from evenpack.corpora.gathering import gather
from evenpack.corpora.huggingface import HuggingFaceCorpus
from evenpack.corpora.indexed_dataset import IndexedDataset
from evenpack.corpora.indexed_dataset_writer import IndexedDatasetWriter
from evenpack.corpora.jsonl import JsonlCorpus
from evenpack.corpora.parquet import ParquetCorpus
from evenpack.corpora.permutation import Permutation
from evenpack.corpora.repetition import Repetition
from evenpack.corpora.sequence import IterableCorpus, LengthCorpus, SequenceCorpus
from evenpack.corpora.shuffle import Shuffle
from evenpack.corpora.token_place import TokenFileCorpus, TokenPlace
from evenpack.corpora.tokenization import tokenize_jsonl
from evenpack.corpora.tokenizer import (
    ByteTokenizer,
    HuggingFaceTokenizer,
    TiktokenTokenizer,
    Tokenizer,
    load_tokenizer,
)

__all__ = [
    "Blend",
    "ByteTokenizer",
    "Concatenation",
    "Corpus",
    "Fields",
    "HasBarriers",
    "HuggingFaceCorpus",
    "HuggingFaceTokenizer",
    "IndexedDataset",
    "IndexedDatasetWriter",
    "IterableCorpus",
    "JsonlCorpus",
    "LeavesDocuments",
    "LengthCorpus",
    "ParquetCorpus",
    "Permutation",
    "RandomAccess",
    "RandomAccessCorpus",
    "Repetition",
    "SequenceCorpus",
    "Shuffle",
    "TiktokenTokenizer",
    "TokenCorpus",
    "TokenFileCorpus",
    "TokenPlace",
    "Tokenizer",
    "gather",
    "load_tokenizer",
    "tokenize_jsonl",
]

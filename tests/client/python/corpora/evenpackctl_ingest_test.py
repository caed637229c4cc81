"""evenpackctl ingest --jsonl against the corpora of this package, on the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evenpack import Client, PackedDataset
from evenpack.corpora import Fields, JsonlCorpus, TiktokenTokenizer, Tokenizer
from evenpack.corpora.jsonl_lengths import read_tokenizer
from evenpack.errors import InvalidArgumentError
from evenpack.ingest import ingest
from example_corpora import COLUMNS, listed
from server_process import ServerProcess

tiktoken = pytest.importorskip("tiktoken")
tokenizers = pytest.importorskip("tokenizers")

# A module of an encoding, as tiktoken finds those of others.
ENCODING = r"""
def small():
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {b"th": 256, b"the": 257, b" the": 258, "\u00e9".encode(): 259}
    return {
        "name": "small",
        "pat_str": r"\s?\S+|\s+",
        "mergeable_ranks": ranks,
        "special_tokens": {"<|end|>": 260},
    }

ENCODING_CONSTRUCTORS = {"small": small}
"""

LINES = [
    rb'{"body": "the plain one", "key": 7, "kept": 0, "from": 3}',
    rb'{"body": "\u0068\u00e9\n\t\"\\\/\u0000<|end|>", "key": 8, "kept": 1, "from": 0}',
    '{"body": "\u00e9\u20ac\U0001f600\u2028", "key": 0, "kept": 2, "from": 1}'.encode(),
    rb'{"body": "\ud83d\ude00\u20AC", "key": 18446744073709551615, "kept":2, "from":1}',
    b'{"body": 5, "key": "", "body": "twice the same", "key": 9, "kept": 1, "from": 2}',
    b' \t{"from": 4294967295,\t"kept": 1, "key": 4, "body": "blanks", "other": [{}]} ',
    b'{"body": "' + b"the huge one " * 100_000 + b'", "key": 5, "kept": 3, "from": 9}',
    b'{"body": "last", "key": 1, "kept": 0, "from": 0}',
]
EMPTY = b'{"body": "", "key": 2, "kept": 0, "from": 0}'
FIELDS = {"id": "key", "loss_tokens": "kept", "source": "from"}
FLAGS = ["--id-field", "key", "--loss-tokens-field", "kept", "--source-field", "from"]


class Workplace:
    """A server with jobs, files, and evenpackctl with what Python it starts."""

    def __init__(self, folder: Path, address: str) -> None:
        """Makes tokenizers that need no download."""
        self.folder = folder
        self.address = address
        self.client = Client(address)
        self._jobs = 0
        self.modules = folder / "modules"
        (self.modules / "tiktoken_ext").mkdir(parents=True)
        module = self.modules / "tiktoken_ext" / "small.py"
        module.write_text(ENCODING, encoding="utf-8")
        trained = tokenizers.Tokenizer(tokenizers.models.BPE())
        trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["</s>"],
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        trained.train_from_iterator(["the huge one", "the plain one"] * 9, trainer)
        trained.enable_truncation(5)
        trained.save(str(folder / "bpe.json"))
        file = folder / "bpe.json"
        self.names = {"tokenizers": f"tokenizers:{file}", "tiktoken": "tiktoken:small"}

    def write(self, lines: list[bytes]) -> Path:
        """A file whose lines end in both ways; the last one has no end."""
        ends = [b"\r\n" if i % 2 else b"\n" for i in range(len(lines))]
        text = b"".join(line + end for line, end in zip(lines, ends, strict=True))
        path = self.folder / "a.jsonl"
        path.write_bytes(text.rstrip())
        return path

    def flags(self, name: str, end_of_document: str | None = None) -> list[str]:
        """Those of a tokenizer, "tokenizers", "tiktoken" or "bytes"."""
        end = [f"--end-of-document={end_of_document}"] if end_of_document else []
        if name == "bytes":
            return ["--tokenizer", name, *end]
        return ["--tokenizer", self.names[name], "--python", sys.executable, *end]

    def tokenizer(self, name: str, end_of_document: str | None = None) -> Tokenizer:
        """The same in this process."""
        if name != "tiktoken":
            return read_tokenizer(self.names.get(name, name), end_of_document)
        scope: dict[str, Any] = {}
        exec(ENCODING, scope)
        encoding = tiktoken.Encoding(**scope["small"]())
        return TiktokenTokenizer(encoding, end_of_document=end_of_document)

    def create(self) -> str:
        """A new job that takes documents of any length."""
        self._jobs += 1
        job = f"job-{self._jobs}"
        self.client.create_job(
            job,
            {
                "streams": [{"name": "default"}],
                "window": 1 << 24,
                "parallelism": {"data": 1, "micro_batches_per_rank": 1},
                "buffer_limits": {"max_tokens": 1 << 40},
            },
        )
        return job

    def run(self, job: str, *flags: object) -> subprocess.CompletedProcess[str]:
        """Runs evenpackctl ingest."""
        path = os.pathsep.join([str(self.modules), *sys.path])
        return subprocess.run(
            [os.environ["EVENPACKCTL"], "ingest", "--job", job, *map(str, flags)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={
                **os.environ,
                "PYTHONPATH": path,
                "EVENPACK_SERVER": self.address,
            },
        )

    def documents(self, job: str) -> dict[str, list[int]]:
        """The columns of a drained job's documents, in their order."""
        rows: dict[int, tuple[int, ...]] = {}
        with PackedDataset(self.address, job=job) as dataset:
            for step in dataset:
                for batch in step:
                    columns = (
                        batch.length,
                        batch.id,
                        batch.document_loss_tokens,
                        batch.source,
                    )
                    values = zip(*(c.tolist() for c in columns), strict=True)
                    rows |= zip(batch.sequence.tolist(), values, strict=True)
        assert sorted(rows) == list(range(len(rows)))
        ordered = [rows[i] for i in range(len(rows))]
        return {name: [row[i] for row in ordered] for i, name in enumerate(COLUMNS)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    """One for all tests."""
    with ServerProcess() as server:
        yield Workplace(tmp_path_factory.mktemp("place"), server.grpc_address)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("bytes", None),
        ("bytes", "256"),
        ("tokenizers", None),
        ("tokenizers", "</s>"),
        ("tokenizers", "0"),
        ("tiktoken", None),
        ("tiktoken", "<|end|>"),
    ],
)
def test_texts_have_the_lengths_that_the_corpus_has(
    place: Workplace, name: str, end: str | None
) -> None:
    path = place.write([*LINES, *([EMPTY] if end else [])])
    fields = Fields(text="body", **FIELDS)
    corpus = JsonlCorpus(path, fields, tokenizer=place.tokenizer(name, end))
    expected = listed(corpus)
    job = place.create()
    flags = [*FLAGS, *place.flags(name, end), "--end-of-stream", "--json"]
    finished = place.run(job, "--jsonl", path, "--text-field", "body", *flags)
    assert (finished.returncode, finished.stderr) == (0, "")
    report = json.loads(finished.stdout)
    assert report["documents"] == len(expected["lengths"]) == len(corpus)
    assert report["tokens"] == sum(expected["lengths"])
    assert report["ended"]
    assert place.documents(job) == expected


def test_token_lists_have_the_lengths_that_the_corpus_has(place: Workplace) -> None:
    lists = [[5], [0, 2147483647], list(range(300_000))]
    lines = [
        json.dumps({"t": ids, "text": "x", "id": i}) for i, ids in enumerate(lists)
    ]
    path = place.write([line.encode() for line in [*lines, ' {"t" :[ 1,\t-0 ]} ', ""]])
    expected = listed(JsonlCorpus(path, Fields(tokens="t")))
    assert expected["lengths"] == [1, 2, 300_000, 2]
    job = place.create()
    finished = place.run(job, "--jsonl", path, "--tokens-field", "t", "--end-of-stream")
    assert (finished.returncode, finished.stderr) == (0, "")
    found = place.documents(job)
    assert (found["lengths"], found["ids"]) == (expected["lengths"], expected["ids"])


NO_TEXT = b'{"text": ""}'
NO_OBJECT = b'{"text": "a"'
BAD_LINES = [
    NO_TEXT,
    NO_OBJECT,
    b'{"text": "\xff"}',
    b'{"text": "\\ud800"}',
    b'{"text": "a\tb"}',
    b'{"text": 5}',
    b'{"body": "a"}',
    b'["text"]',
    b"",
]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *(("bytes", line) for line in BAD_LINES),
        ("tokenizers", NO_TEXT),
        ("tokenizers", NO_OBJECT),
        ("tiktoken", NO_TEXT),
    ],
)
def test_a_line_that_the_corpus_refuses_is_refused_and_ends_no_stream(
    place: Workplace, name: str, line: bytes
) -> None:
    good = b'{"text": "the good one"}'
    path = place.write([good, good, line, good])
    corpus = JsonlCorpus(path, Fields(text="text"), tokenizer=place.tokenizer(name))
    with pytest.raises(InvalidArgumentError, match="line 3: "):
        listed(corpus)
    job = place.create()
    finished = place.run(
        job, "--jsonl", path, *place.flags(name), "--end-of-stream", "--json"
    )
    assert finished.returncode == 2
    assert finished.stderr.startswith("evenpackctl: line 3: ")
    assert finished.stderr.count("\n") == 1
    report = json.loads(finished.stdout)
    assert (report["documents"], report["ended"]) == (2, False)
    stream = place.client.get_job(job).streams[0]
    assert (stream.next_sequence, stream.ended) == (2, False)


@pytest.mark.parametrize("name", ["bytes", "tokenizers", "tiktoken"])
def test_what_the_package_began_evenpackctl_ends(place: Workplace, name: str) -> None:
    texts = [f"the text {'one ' * (i % 50)}{i}" for i in range(2000)]
    path = place.write([json.dumps({"text": text}).encode() for text in texts])
    corpus = JsonlCorpus(path, Fields(text="text"), tokenizer=place.tokenizer(name))
    job = place.create()
    with place.client.producer(job, "default") as producer:
        ingest(producer, corpus, documents=1234, end_of_stream=False)
    finished = place.run(job, "--jsonl", path, *place.flags(name), "--end-of-stream")
    assert finished.returncode == 0, finished.stderr
    assert ("passed over: 1234\n" in finished.stderr) == (name != "bytes")
    found, expected = place.documents(job), listed(corpus)
    assert (found["lengths"], found["ids"]) == (expected["lengths"], expected["ids"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--tokenizer", "tiktoken:none"],
            "--tokenizer: 'none' is not accepted; accepted: small, gpt2, ",
        ),
        (
            ["--tokenizer", "tiktoken:small", "--end-of-document", "<none>"],
            "--end-of-document: '<none>' is not accepted; accepted: a token that there",
        ),
    ],
)
def test_a_tokenizer_that_there_is_not_is_refused(
    place: Workplace, flags: list[str], message: str
) -> None:
    path = place.write([b'{"text": "a"}'])
    job = place.create()
    python = ["--python", sys.executable]
    finished = place.run(job, "--jsonl", path, *flags, *python, "--end-of-stream")
    assert finished.returncode == 2
    assert finished.stderr.startswith(f"evenpackctl: {message}")
    assert finished.stderr.count("\n") == 1
    assert not place.client.get_job(job).streams[0].ended


def test_a_library_that_is_not_installed_is_named(place: Workplace) -> None:
    path = place.write([b'{"text": "a"}'])
    job = place.create()
    library = place.modules / "tokenizers.py"
    library.write_text("raise ImportError('gone')\n", encoding="utf-8")
    try:
        finished = place.run(job, "--jsonl", path, *place.flags("tokenizers"))
    finally:
        library.unlink()
    assert finished.returncode == 2
    assert finished.stderr == (
        "evenpackctl: --tokenizer: tokenizers is not installed (gone); accepted: an "
        "environment with it, as pip install tokenizers makes it\n"
    )

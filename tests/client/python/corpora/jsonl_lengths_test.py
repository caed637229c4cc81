"""Tests of evenpack.corpora.jsonl_lengths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evenpack.corpora import ByteTokenizer, Fields, JsonlCorpus, Tokenizer
from evenpack.corpora.jsonl_lengths import read_tokenizer, records
from evenpack.corpora.line_stream import LineStream
from evenpack.errors import InvalidArgumentError
from example_corpora import listed, write_jsonl

MODULE = "evenpack.corpora.jsonl_lengths"
TEXTS = ["ab", "\u20ac", "x" * 100, "\U0001f600\n"]


def _records(
    path: Path,
    fields: Fields | None = None,
    tokenizer: Tokenizer | None = None,
    skip: int = 0,
) -> tuple[list[dict[str, Any]], str]:
    """All records before an error, and that."""
    found: list[dict[str, Any]] = []
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for some in records(
            LineStream(descriptor, "a JSON object"),
            fields or Fields(text="text"),
            tokenizer or ByteTokenizer(),
            skip,
        ):
            found += some
    except InvalidArgumentError as error:
        return found, str(error)
    finally:
        os.close(descriptor)
    return found, ""


def _write(path: Path, texts: Sequence[str] = TEXTS) -> Path:
    return write_jsonl(path, [{"text": text} for text in texts])


@pytest.mark.parametrize("batch", [1, 3, 8192])
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_records_have_what_the_corpus_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, batch: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.line_stream._BLOCK", block)
    monkeypatch.setattr("evenpack.corpora.jsonl_lengths._BATCH", batch)
    path = write_jsonl(
        tmp_path / "a",
        [
            {"body": "x" * (i % 9), "key": 10 + i, "loss": i % 2, "from": i % 3}
            for i in range(40)
        ],
    )
    fields = Fields(text="body", id="key", loss_tokens="loss", source="from")
    tokenizer = ByteTokenizer(end_of_document=256)
    found, error = _records(path, fields, tokenizer)
    assert error == ""
    assert found[0] == {"skipped": 0}
    assert found[-1] == {"documents": 40}
    names = {"lengths": "length", "ids": "id", "loss_tokens": "loss_tokens"}
    names["sources"] = "source"
    expected = listed(JsonlCorpus(path, fields, tokenizer=tokenizer))
    for column, name in names.items():
        assert [record[name] for record in found[1:-1]] == expected[column]
    lines = path.read_bytes().splitlines(keepends=True)
    ends = [sum(map(len, lines[: i + 1])) for i in range(40)]
    assert [record["end"] for record in found[1:-1]] == ends


def test_an_id_is_there_where_it_is_a_whole_number(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "a", [{"text": "a", "id": 7}, {"text": "a", "id": "7"}]
    )
    found, _ = _records(path)
    assert [record.get("id") for record in found[1:-1]] == [7, None]
    assert "loss_tokens" not in found[1]
    assert "source" not in found[1]


class Recording(ByteTokenizer):
    """Keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def count(self, texts: Sequence[str]) -> list[int]:
        self.texts += texts
        return super().count(texts)


@pytest.mark.parametrize("block", [1, 30, 1 << 20])
@pytest.mark.parametrize("skip", range(6))
def test_lines_that_are_skipped_are_not_tokenized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, skip: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.line_stream._BLOCK", block)
    tokenizer = Recording()
    found, error = _records(_write(tmp_path / "a"), tokenizer=tokenizer, skip=skip)
    assert error == ""
    assert found[0] == {"skipped": min(skip, 4)}
    assert [record["length"] for record in found[1:-1]] == [2, 3, 100, 5][skip:]
    assert found[-1] == {"documents": max(4 - skip, 0)}
    assert tokenizer.texts == TEXTS[skip:]


@pytest.mark.parametrize("block", [1, 30, 1 << 20])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"text": "", "loss": 0}',
            "field 'text': one without a token is not accepted; accepted:",
        ),
        ('{"txt": "a"}', "field 'text': a line without it is not accepted"),
        ("", "line: b'' is not accepted; accepted: a JSON object"),
        (
            '{"text": "ab", "loss": 3}',
            "field 'loss': 3 is not accepted; accepted: 0 to",
        ),
        ('{"text": "ab", "loss": -1}', "field 'loss': -1 is not accepted"),
    ],
)
def test_lines_before_a_bad_one_come_before_its_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    line: str,
    message: str,
) -> None:
    monkeypatch.setattr("evenpack.corpora.line_stream._BLOCK", block)
    path = tmp_path / "a"
    good = '{"text": "abc", "loss": 3}\n'
    path.write_text(good * 2 + line + "\n" + good, encoding="utf-8")
    found, error = _records(path, Fields(text="text", loss_tokens="loss"))
    assert [record.get("length") for record in found] == [None, 3, 3]
    assert error.startswith(f"line 3: {message}")


def test_an_empty_line_is_no_document_to_skip(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('{"text": "a"}\n\n{"text": "a"}\n', encoding="utf-8")
    found, error = _records(path, skip=3)
    assert found == []
    assert error == "line 2: line: b'' is not accepted; accepted: a JSON object"
    path.write_text('{"text": "a"}\n\n\n', encoding="utf-8")
    assert _records(path, skip=3) == ([{"skipped": 1}, {"documents": 0}], "")


def test_an_end_of_document_is_an_id_or_a_name(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"a": 0, "</s>": 1, "?": 2}, unk_token="?")
    )
    made.save(str(tmp_path / "words"))
    name = f"tokenizers:{tmp_path / 'words'}"
    assert read_tokenizer(name).count(["a"]) == [1]
    for end in ("</s>", "1"):
        encoded = read_tokenizer(name, end).encode(["a"])
        assert [ids.tolist() for ids in encoded] == [[0, 1]]
    with pytest.raises(InvalidArgumentError, match="end_of_document: '<e>' is not"):
        read_tokenizer(name, "<e>")
    with pytest.raises(InvalidArgumentError, match=r"tokenizer: .*none.json "):
        read_tokenizer(f"tokenizers:{tmp_path}/none.json")


def _run(
    *flags: str, stdin: bytes = b"", modules: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The program, with a folder of modules in front of those installed."""
    path = os.pathsep.join(filter(None, [str(modules or ""), *sys.path]))
    finished = subprocess.run(
        [sys.executable, "-m", MODULE, *flags],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    texts = (finished.stdout.decode(), finished.stderr.decode())
    return subprocess.CompletedProcess(finished.args, finished.returncode, *texts)


def test_the_program_writes_records_a_line() -> None:
    finished = _run(
        "--tokenizer=bytes", "--skip=1", stdin=b'{"text": "a"}\r\n{"text": "bc"}\r\n'
    )
    assert finished.returncode == 0, finished.stderr
    assert [json.loads(line) for line in finished.stdout.splitlines()] == [
        {"skipped": 1},
        {"length": 2, "end": 31},
        {"documents": 1},
    ]


@pytest.mark.parametrize(
    ("flags", "stdin", "error"),
    [
        (
            ["--tokenizer=tiktoken:none"],
            b"",
            "--tokenizer: 'none' is not accepted; accepted: gpt2, ",
        ),
        (
            ["--tokenizer=bytes", "--end-of-document=5000000000"],
            b"",
            "--end-of-document: 5000000000 is not accepted; accepted: 0 to 2147483647",
        ),
        (["--tokenizer=bytes"], b"{}", "line 1: field 'text': a line without it"),
    ],
)
def test_the_program_says_what_is_wrong_by_the_names_of_flags(
    flags: list[str], stdin: bytes, error: str
) -> None:
    pytest.importorskip("tiktoken")
    finished = _run(*flags, stdin=stdin)
    assert finished.returncode == 2
    last = json.loads(finished.stdout.splitlines()[-1])
    assert last["error"].startswith(error)
    assert last["code"] == 3
    assert finished.stderr == ""


def test_a_library_that_is_missing_or_fails_is_told_of(tmp_path: Path) -> None:
    library = tmp_path / "tiktoken.py"
    library.write_text("raise ImportError('not here')\n", encoding="utf-8")
    finished = _run("--tokenizer=tiktoken:gpt2", modules=tmp_path)
    last = json.loads(finished.stdout)
    assert last["error"] == (
        "--tokenizer: tiktoken is not installed (not here); accepted: an environment "
        "with it, as pip install tiktoken makes it"
    )
    assert last["code"] == 3
    library.write_text(
        "def get_encoding(name):\n"
        "    print('loading', name)\n"
        "    raise OSError('no network')\n",
        encoding="utf-8",
    )
    finished = _run("--tokenizer=tiktoken:gpt2", modules=tmp_path)
    # What the library prints is kept apart.
    assert json.loads(finished.stdout) == {
        "error": "--tokenizer: OSError: no network",
        "code": 9,
    }
    assert finished.stderr == "loading gpt2\n"


def test_the_program_ends_with_whoever_reads(tmp_path: Path) -> None:
    path = _write(tmp_path / "a", ["a"] * 200_000)
    with path.open("rb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, "--tokenizer=bytes"],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b'{"skipped": 0}\n'
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == b""
    process.stderr.close()

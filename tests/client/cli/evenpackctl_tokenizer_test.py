"""Runs evenpackctl ingest from outside on texts: tokens counted here and in a process.

The environment is that of evenpackctl_online_test.py. In the place of an interpreter
with the package evenpack is a program of the test's, which counts words.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from evenpackctl_online_test import ROOMY, SMALL, ServerTest, read_line

# What evenpack.corpora.jsonl_lengths does, for words.
PROGRAM = """#!{python} -u
import json, os, sys
flags = dict(flag[2:].split("=", 1) for flag in sys.argv[3:])
skip = int(flags["skip"])
def say(**record):
    print(json.dumps(record))
skipped = documents = end = 0
if skip == 0:
    say(skipped=0)
for number, line in enumerate(sys.stdin.buffer, 1):
    end += len(line)
    if skipped < skip:
        skipped += 1
        if skipped == skip:
            say(skipped=skip)
        continue
    record = json.loads(line)
    if "crash" in record:
        print("Error: a crash", file=sys.stderr)
        os._exit(int(record["crash"]))
    if "text" not in record:
        say(error=f"line {{number}}: no text", code=record.get("code", 3))
        sys.exit(2)
    documents += 1
    columns = {{name: record[name] for name in ("id", "source") if name in record}}
    say(length=len(record["text"].split()), end=end, **columns)
say(documents=documents)
"""


class TokenizerTest(ServerTest):
    """Jobs of two ranks, and files of texts."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.python = self.write("python", PROGRAM.format(python=sys.executable))
        Path(self.python).chmod(0o700)
        self.create(*SMALL, *ROOMY)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def lines(self, *records: dict[str, Any]) -> str:
        return self.write("a.jsonl", "".join(json.dumps(r) + "\n" for r in records))

    def tokenized(self, path: str) -> list[str]:
        tokenizer = ["--tokenizer", "tiktoken:words", "--python", self.python]
        return ["--jsonl", path, *tokenizer]

    def documents(self) -> dict[int, tuple[int, int]]:
        """(length, id) of each, in the steps of both ranks of the drained job."""
        return {
            document["sequence"]: (document["length"], document["id"])
            for rank in ("0", "1")
            for step in self.follow("--dp-rank", rank)
            for micro_batch in step["micro_batches"]
            for document in micro_batch["documents"]
        }

    def test_bytes_and_token_lists_are_counted_without_python(self) -> None:
        first = self.lines({"text": "h\u00e9"}, {"text": ""}, {"text": "\U0001f600\n"})
        report = self.ingest(
            "--jsonl", first, "--tokenizer", "bytes", "--end-of-document", "256"
        )
        self.assertEqual(report["tokens"], 4 + 1 + 6)
        second = self.lines({"ids": [5, 6], "text": "abc", "id": 9}, {"ids": [7]})
        report = self.ingest(
            "--jsonl", second, "--tokens-field", "ids", "--from-sequence", "3",
            "--end-of-stream",
        )  # fmt: skip
        self.assertEqual(report["tokens"], 3)
        lengths_and_ids = [(4, 0), (1, 1), (6, 2), (2, 9), (1, 4)]
        self.assertEqual(self.documents(), dict(enumerate(lengths_and_ids)))

    def test_a_tokenizer_goes_on_where_the_stream_is(self) -> None:
        texts = [{"text": "a " * (i % 7 + 1), "id": 1000 + i} for i in range(3000)]
        report = self.ingest(*self.tokenized(self.lines(*texts[:1200])))
        self.assertEqual(report["documents"], 1200)
        self.assertEqual(report["tokens"], sum(i % 7 + 1 for i in range(1200)))
        # Of what the stream has not even the text is looked at.
        path = self.lines(*[{"gone": i} for i in range(1200)], *texts[1200:])
        finished = self.run_program(
            "ingest", "--job", self.job, *self.tokenized(path), "--end-of-stream",
            "--json",
        )  # fmt: skip
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(
            finished.stderr,
            "evenpackctl: note: documents that stream 'default' has already, passed "
            "over: 1200\n",
        )
        report = json.loads(finished.stdout)
        self.assertEqual(report["documents"], 1800)
        self.assertEqual(report["next_sequence"], 3000)
        self.assertTrue(report["ended"])
        self.assertEqual(
            self.documents(), {i: (i % 7 + 1, 1000 + i) for i in range(3000)}
        )

    def test_whatever_fails_in_it_ends_no_stream(self) -> None:
        cases: list[tuple[dict[str, Any], int, str]] = [
            ({}, 2, "line 2: no text"),
            ({"code": 9}, 3, "line 2: no text"),
            ({"crash": 1}, 3, "ended with code 1 before it was done: Error: a crash"),
            ({"crash": 0}, 3, "ended with code 0 before it was done"),
        ]
        for i, (bad, code, message) in enumerate(cases):
            path = self.lines({"text": "a b"}, bad, {"text": "c"})
            finished = self.run_program(
                "ingest", "--job", self.job, *self.tokenized(path), "--end-of-stream",
                "--from-sequence", str(i), "--json",
            )  # fmt: skip
            self.assertEqual(finished.returncode, code, finished.stderr)
            self.assertRegex(finished.stderr, r"\Aevenpackctl: [^\n]+\n\Z")
            self.assertIn(message, finished.stderr)
            report = json.loads(finished.stdout)
            self.assertEqual((report["documents"], report["tokens"]), (1, 2))
            stream = self.describe()["streams"][0]
            self.assertEqual((stream["next_sequence"], stream["ended"]), (i + 1, False))

    def test_an_interpreter_without_the_package_is_refused(self) -> None:
        path = self.lines({"text": "a"})
        ingest = ["ingest", "--job", self.job, "--jsonl", path, "--end-of-stream"]
        tokenizer = ["--tokenizer", "tokenizers:a.json", "--python"]
        for python, why in (
            ("/no/such/python", "(No such file or directory)"),
            (self.folder, "(Permission denied)"),
            ("true", "which ended with code 0"),
            ("echo", "which writes '-m evenpack.corpora.jsonl_lengths "),
        ):
            message = self.refused(2, *ingest, *tokenizer, str(python))
            self.assertIn(f"--python: '{python}'", message)
            self.assertIn(why, message)
        self.assertFalse(self.describe()["streams"][0]["ended"])

    def test_a_pipes_texts_are_sent_as_they_are_written_and_ctrl_c_ends_both(
        self,
    ) -> None:
        follower = self.start("follow", "--job", self.job, "--dp-rank", "0", "--json")
        script = self.write("words", PROGRAM.format(python=sys.executable))
        self.write(
            "python",
            f"#!/bin/sh\necho $$ >'{self.folder}/process'\n"
            f"exec '{sys.executable}' -u '{script}' \"$@\"\n",
        )
        ingest = ["ingest", "--job", self.job, *self.tokenized("-")]
        with self.start(*ingest) as sender:
            assert sender.stdin is not None
            for step in range(3):
                sender.stdin.write(f'{{"text": "{"a " * 100}"}}\n' * 4)
                sender.stdin.flush()
                self.assertEqual(json.loads(read_line(follower.stdout))["step"], step)
            process = int((self.folder / "process").read_text(encoding="utf-8"))
            os.kill(process, 0)
            sender.send_signal(signal.SIGINT)
            self.assertEqual(sender.wait(), 130)
            self.assertRaises(ProcessLookupError, os.kill, process, 0)
        follower.send_signal(signal.SIGINT)
        follower.communicate()


if __name__ == "__main__":
    del ServerTest  # Its tests are those of evenpackctl_online_test.py.
    unittest.main()

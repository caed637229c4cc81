"""What must hold of a job's steps, whoever received them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import digests
import documents
from evenpack.v1 import step_pb2

# (offset, length, length of the document) of a document's pieces.
Pieces = list[tuple[int, int, int]]


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def check_digests(step: step_pb2.Step) -> None:
    """The step's digests are those of what it holds."""
    for micro_batch in step.micro_batches:
        at = 16 * micro_batch.index
        digest = digests.micro_batch_digest(micro_batch)
        where = f"step {step.index}, micro-batch {micro_batch.index}"
        _require(micro_batch.digest == digest, f"{where}: digest")
        listed = step.micro_batch_digests[at : at + 16]
        _require(listed == digest, f"{where}: digest in the step's list")
    _require(step.digest == digests.step_digest(step), f"step {step.index}: digest")


def check_order(steps: Sequence[step_pb2.Step]) -> None:
    """All steps from the first, without a gap, each naming the digest before it."""
    previous = digests.GENESIS
    for index, step in enumerate(steps):
        _require(step.index == index, f"step {step.index} in the place of {index}")
        _require(step.previous_digest == previous, f"step {index}: previous digest")
        previous = step.digest


def check_chain(steps: Sequence[step_pb2.Step]) -> None:
    """check_order, and every digest is the one of docs/formats.md."""
    check_order(steps)
    for step in steps:
        check_digests(step)


def check_ranks_agree(ranks: Sequence[Sequence[step_pb2.Step]]) -> None:
    """All DP ranks, in order, got their parts of the same steps."""
    for parts in zip(*ranks, strict=True):
        index = parts[0].index
        _require(len({part.digest for part in parts}) == 1, f"step {index}: digests")
        mine = [part.dp_rank for part in parts]
        _require(mine == list(range(len(ranks))), f"step {index}: ranks {mine}")
        held = [each for part in parts for each in part.micro_batches]
        positions = [each.index for each in held]
        _require(
            positions == list(range(parts[0].totals.micro_batches)),
            f"step {index}: micro-batches {positions}",
        )
        tokens = sum(each.tokens for each in held)
        _require(tokens == parts[0].totals.tokens, f"step {index}: {tokens} tokens")


def pieces_of(steps: Iterable[step_pb2.Step]) -> Mapping[tuple[int, int], Pieces]:
    """The pieces of every document, by stream and sequence number."""
    found: dict[tuple[int, int], Pieces] = defaultdict(list)
    for step in steps:
        for micro_batch in step.micro_batches:
            held = micro_batch.documents
            for i, (sequence, length) in enumerate(
                zip(held.sequence, held.length, strict=True)
            ):
                stream = held.stream[i] if held.stream else 0
                offset = held.offset[i] if held.offset else 0
                whole = held.document_length[i] if held.document_length else length
                found[stream, sequence].append((offset, length, whole))
    return found


def check_no_repetition(steps: Iterable[step_pb2.Step]) -> int:
    """No token of any document came twice; how many documents there are."""
    pieces = pieces_of(steps)
    for document, parts in pieces.items():
        end = 0
        for offset, length, _ in sorted(parts):
            _require(offset >= end, f"document {document}: pieces {parts}")
            end = offset + length
    return len(pieces)


def check_exactly_once(
    steps: Iterable[step_pb2.Step],
    streams: Sequence[tuple[int, int]],
    skipped: Collection[tuple[int, int]] = (),
) -> None:
    """The steps hold each stream's documents: (seed, how many), in the job's order.

    None of those that are `skipped`, by stream and sequence number, is among them.
    """
    pieces = pieces_of(steps)
    expected = {
        (stream, sequence): documents.length_of(seed, sequence)
        for stream, (seed, count) in enumerate(streams)
        for sequence in range(count)
        if (stream, sequence) not in skipped
    }
    missing = expected.keys() - pieces.keys()
    _require(not missing, f"{len(missing)} documents missing: {sorted(missing)[:5]}")
    invented = pieces.keys() - expected.keys()
    _require(not invented, f"{len(invented)} documents that nobody sent")
    for document, length in expected.items():
        end = 0
        for offset, part, whole in sorted(pieces[document]):
            _require(
                offset == end and whole == length,
                f"document {document} of {length} tokens: {pieces[document]}",
            )
            end += part
        _require(end == length, f"document {document}: {end} of {length} tokens")

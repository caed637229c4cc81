"""Tests of evenpack.corpora.huggingface."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from evenpack.corpora import ByteTokenizer, Fields, HuggingFaceCorpus
from evenpack.corpora.huggingface import HuggingFaceDataset
from evenpack.errors import InvalidArgumentError
from example_corpora import lengths, listed, numbers, random_documents

datasets = pytest.importorskip("datasets")

DOCUMENTS = random_documents(40, seed=6)


def _dataset(**more: list[Any]) -> HuggingFaceDataset:
    return datasets.Dataset.from_dict({"input_ids": DOCUMENTS, **more})


@pytest.fixture
def corpus() -> HuggingFaceCorpus:
    """Of token lists."""
    return HuggingFaceCorpus(_dataset(), Fields(tokens="input_ids"))


def test_rows_are_documents_from_any_one(corpus: HuggingFaceCorpus) -> None:
    expected = [len(document) for document in DOCUMENTS]
    assert len(corpus) == 40
    for first in range(41):
        assert lengths(corpus, first) == expected[first:]
    mixed = [39, 0, 7, 7]
    found = corpus.read(numbers(mixed)).lengths.tolist()
    assert found == [expected[i] for i in mixed]


def test_rows_have_their_tokens(corpus: HuggingFaceCorpus) -> None:
    for i, document in enumerate(DOCUMENTS):
        assert corpus.tokens(i).tolist() == document
        assert corpus.tokens(i, 1, len(document)).tolist() == document[1:]


def test_texts_are_tokenized() -> None:
    dataset = datasets.Dataset.from_dict({"text": ["ab", "\u20ac"]})
    corpus = HuggingFaceCorpus(
        dataset, Fields(text="text"), tokenizer=ByteTokenizer(256)
    )
    assert lengths(corpus) == [3, 4]
    assert corpus.tokens(0).tolist() == [97, 98, 256]


def test_other_columns_are_read() -> None:
    dataset = _dataset(n=[9] * 40, key=list(range(100, 140)), loss=[4] * 40)
    fields = Fields(length="n", id="key", loss_tokens="loss")
    found = listed(HuggingFaceCorpus(dataset, fields), 38)
    assert found == {"lengths": [9, 9], "ids": [138, 139], "loss_tokens": [4, 4]}


def test_selected_shuffled_and_formatted_datasets_keep_their_order() -> None:
    shuffled = _dataset().shuffle(seed=3).select(range(5, 25)).with_format("numpy")
    corpus = HuggingFaceCorpus(shuffled, Fields(tokens="input_ids"))
    rows = [list(row) for row in shuffled["input_ids"]]
    assert len(corpus) == 20
    assert lengths(corpus) == [len(row) for row in rows]
    assert [corpus.tokens(i).tolist() for i in range(20)] == rows


def test_a_dataset_without_rows_has_no_documents() -> None:
    corpus = HuggingFaceCorpus(_dataset().select([]), Fields(tokens="input_ids"))
    assert listed(corpus) == {}


def test_a_bad_row_is_named_by_its_number() -> None:
    dataset = datasets.Dataset.from_dict({"n": [1, 2, 0]})
    corpus = HuggingFaceCorpus(dataset, Fields(length="n"))
    message = "dataset: row 2: column 'n': 0 is not accepted; accepted: 1 to 2147483647"
    with pytest.raises(InvalidArgumentError) as caught:
        lengths(corpus, 1)
    assert str(caught.value) == message
    with pytest.raises(InvalidArgumentError) as caught:
        corpus.read(numbers([2, 0]))
    assert str(caught.value) == message


@pytest.mark.parametrize("wrong", ["dict", "streaming", "list"])
def test_what_is_no_dataset_is_refused(wrong: str) -> None:
    dataset = _dataset()
    given = {
        "dict": datasets.DatasetDict({"train": dataset}),
        "streaming": dataset.to_iterable_dataset(),
        "list": [1],
    }[wrong]
    with pytest.raises(InvalidArgumentError) as caught:
        HuggingFaceCorpus(given, Fields(tokens="input_ids"))
    assert str(caught.value) == (
        f"dataset: {type(given).__name__} is not accepted; accepted: a "
        "datasets.Dataset, one split of it"
    )


def test_a_missing_column_is_named() -> None:
    with pytest.raises(
        InvalidArgumentError, match="dataset: column: 'text' is not accepted; accepted"
    ):
        HuggingFaceCorpus(_dataset(), Fields(text="text"))


@pytest.mark.parametrize(
    ("document", "end", "message"),
    [
        (40, None, "document: 40 is not accepted; accepted: 0 to 39"),
        (0, 99, "document 0: end: 99 is not accepted; accepted: 0 to"),
    ],
)
def test_tokens_that_there_are_not_are_refused(
    corpus: HuggingFaceCorpus, document: int, end: int | None, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        corpus.tokens(document, 0, end)


def test_it_can_be_sent_to_another_process(corpus: HuggingFaceCorpus) -> None:
    again = pickle.loads(pickle.dumps(corpus))
    assert again.tokens(3).tolist() == DOCUMENTS[3]

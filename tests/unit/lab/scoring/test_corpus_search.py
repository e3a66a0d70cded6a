"""Which texts ask and which answer, on corpora small enough to see."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from small_corpora import corpus_of
from twicetold.features.rows import CsrRows
from twicetold.models.protocol import Searchable
from twicetold.trained.reading import EncodedTexts
from twicetold_lab.data.corpus import Pairs
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.evaluation.retrieval import CorpusSearch
from twicetold_lab.scoring.corpus_search import asked_of, search_reports, texts_to_search
from twicetold_lab.scoring.duplicates import dedupe_inputs, evaluation_inputs


def pairs(*rows):
    left, right, label = zip(*rows)
    return Pairs(np.array(left), np.array(right), np.array(label, np.float32))


def corpus_of_pairs(kind="labelled_pairs", **card):
    """Train knows 0-1 and 1-2, test asks 0-3 and 3-4; texts 5 and 6 are equal; 7 to 9 are nobody's duplicate."""
    same, other = (1, 0) if kind == "labelled_pairs" else (4.5, 1)
    splits = {
        "train": pairs((0, 1, same), (1, 2, same), (7, 8, other)),
        "val": pairs((5, 9, same), (7, 9, other)),
        "test": pairs((0, 3, same), (3, 4, same), (8, 9, other)),
    }
    texts = ["a", "b", "c", "d", "e", "f", "f", "h", "i", "j"]
    return corpus_of(texts, kind=kind, groups={}, pairs=splits, card=card)


def corpus_of_documents():
    """Stories 0 (texts 0, 1, 4), 1 (2, 5) and one of unknown story; categories are no answers."""
    return corpus_of(
        list("abcdef"),
        groups={"story": np.array([0, 0, 1, -1, 0, 1]), "category": np.zeros(6, np.int64)},
        members={"train": np.array([0, 1, 2]), "val": np.array([3]), "test": np.array([4, 5])},
    )


def sets(asked, query):
    """Relevant and struck texts of one query."""
    texts = np.arange(len(asked.relevant))
    right = (asked.relevant == asked.relevant[query]) & (texts != query)
    struck = (asked.known == asked.known[query]) & ~right & (texts != query)
    return set(texts[right].tolist()), set(texts[struck].tolist())


@pytest.mark.parametrize(
    "corpus", [corpus_of_pairs(), corpus_of_pairs("graded_pairs", positive_grade=4.0)], ids=["labelled", "graded"]
)
def test_the_closure_of_the_splits_own_duplicates_answers_and_what_training_knew_is_struck(corpus):
    asked = asked_of(corpus, "test", np.arange(10), classes=["category"])
    assert asked.queries.tolist() == [0, 3, 4]
    assert sets(asked, 0) == ({3, 4}, {1, 2})
    assert sets(asked, 4) == ({0, 3}, {1, 2})


def test_the_same_text_word_for_word_is_struck():
    asked = asked_of(corpus_of_pairs(), "val", np.arange(10), classes=["category"])
    assert asked.queries.tolist() == [5, 9]
    assert sets(asked, 9) == ({5}, {6})


def test_documents_are_answered_by_their_story_in_every_split():
    asked = asked_of(corpus_of_documents(), "test", np.arange(6), classes=["category"])
    assert asked.queries.tolist() == [4, 5]
    assert sets(asked, 4) == ({0, 1}, set())
    assert asked_of(corpus_of_documents(), "val", np.arange(6), classes=["category"]).queries.tolist() == []


def test_where_every_group_is_a_class_nothing_is_asked():
    asked = asked_of(corpus_of_documents(), "test", np.arange(6), classes=["category", "story"])
    assert asked.queries.tolist() == []


def at_most(texts):
    return Standard(corpus_search=CorpusSearch(max_texts=texts))


def test_a_large_corpus_is_searched_in_part_with_all_of_validation_and_test():
    corpus = corpus_of_pairs()
    texts = texts_to_search(corpus, at_most(8))
    assert len(texts) == 8
    assert set(texts.tolist()) >= {0, 3, 4, 5, 7, 8, 9}
    assert np.array_equal(texts, np.unique(texts))
    asked = asked_of(corpus, "test", texts, classes=["category"])
    assert texts[asked.queries].tolist() == [0, 3, 4]
    assert texts_to_search(corpus, at_most(3)).tolist() == [0, 3, 4, 5, 7, 8, 9]
    assert texts_to_search(corpus, at_most(10)).tolist() == list(range(10))
    measured = replace(at_most(3), splits=["val", "test", "train"])
    assert texts_to_search(corpus, measured).tolist() == sorted({n for each in corpus.members.values() for n in each})


class Lookup(torch.nn.Module):
    """A family whose vector of a text is a row of a table."""

    score_is_dot_product = True

    def __init__(self, table):
        super().__init__()
        self.table = torch.from_numpy(table)

    def encode(self, features):
        return self.table[features.indices]

    def search_vectors(self, encoding):
        return encoding, encoding


class Reader(torch.nn.Module):
    """A family that reads two texts together."""


def numbered_rows(count):
    return CsrRows(np.arange(count + 1), np.arange(count), None, count)


def test_a_family_that_puts_duplicates_side_by_side_finds_them_all():
    angle = np.array([0, 0.1, 0.05, 0.02, 0.03, 2, 2, 4, 5, 2.01])
    family = Lookup(np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32))
    assert isinstance(family, Searchable)
    evaluator = Standard(corpus_search=CorpusSearch(at=(1, 2), ndcg_at=(2,), rank=2))
    found = search_reports(EncodedTexts(family, numbered_rows(10)), corpus_of_pairs(), evaluator, None)
    assert found.search.metrics["test"]["retrieval_recall_at_2"] == 1
    assert found.search.metrics["test"]["retrieval_ndcg_at_2"] == pytest.approx(1)
    read = EncodedTexts(Lookup(family.table.numpy()[:6]), numbered_rows(6))
    documents = search_reports(read, corpus_of_documents(), evaluator, None)
    assert set(documents.search.metrics) == {"test"}


def test_duplicates_of_a_split_are_its_own_closure_and_texts_that_are_equal_word_for_word():
    read = EncodedTexts(Lookup(np.eye(10, dtype=np.float32)), numbered_rows(10))
    corpus = corpus_of_pairs()
    name, vectors = dedupe_inputs(read, corpus, "test", classes=["category"])
    assert name == "cluster"
    groups = dict(zip(corpus.members["test"].tolist(), vectors.groups["cluster"].tolist()))
    assert groups[0] == groups[3] == groups[4]
    assert len(set(groups.values())) == len(groups) - 2
    _, val = dedupe_inputs(read, corpus, "val", classes=["category"])
    groups = dict(zip(corpus.members["val"].tolist(), val.groups["cluster"].tolist()))
    assert groups[5] == groups[9]
    np.testing.assert_array_equal(vectors.left, np.eye(10)[corpus.members["test"]])
    graded = corpus_of_pairs("graded_pairs", positive_grade=4.0)
    assert dedupe_inputs(read, graded, "test", classes=["category"]) is None


def test_duplicates_among_documents_are_of_the_finest_group_that_is_no_class():
    corpus = corpus_of_documents()
    read = EncodedTexts(Lookup(np.eye(6, dtype=np.float32)), numbered_rows(6))
    assert dedupe_inputs(read, corpus, "train", classes=["category"])[0] == "story"
    assert dedupe_inputs(read, corpus, "train", classes=["category", "story"]) is None
    assert dedupe_inputs(read, corpus, "val", classes=["category"]) is None  # no two of one story
    assert dedupe_inputs(EncodedTexts(Reader(), numbered_rows(6)), corpus, "train", classes=["category"]) is None


def test_a_family_without_vectors_is_left_out():
    assert search_reports(EncodedTexts(Reader(), numbered_rows(10)), corpus_of_pairs(), Standard(), None) is None


def test_kept_texts_are_encoded_once_whatever_is_asked_of_them(monkeypatch):
    family = Lookup(np.eye(10, dtype=np.float32))
    encoded = []
    encode = family.encode
    monkeypatch.setattr(family, "encode", lambda rows: encoded.append(len(rows)) or encode(rows))
    corpus, evaluator = corpus_of_pairs(), Standard(corpus_search=CorpusSearch(at=(1, 2), rank=2))
    plain = EncodedTexts(family, numbered_rows(10))
    kept = plain.keeping(texts_to_search(corpus, evaluator))
    encoded.clear()
    inputs = [evaluation_inputs(kept, corpus, split) for split in ("val", "test")]
    found = search_reports(kept, corpus, evaluator, None)
    assert encoded == []
    for ours, split in zip(inputs, ("val", "test")):
        np.testing.assert_array_equal(ours.score, evaluation_inputs(plain, corpus, split).score)
    assert found.search.metrics == search_reports(plain, corpus, evaluator, None).search.metrics

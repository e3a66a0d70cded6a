import numpy as np
import pytest

from twicetold_lab.data.sources import all_nli
from twicetold_lab.examples.graded import GradedPairs
from twicetold_lab.examples.labelled import LabelledPairs

GRADE = {"contradiction": 0, "neutral": 1, "entailment": 2}


def write(folder, rows, header=all_nli.COLUMNS):
    (folder / all_nli.FILE).write_text("".join("\t".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")


def rows_of(count, *, split):
    return [
        (split, "SNLI", "f.txt", f'{split} person {n} plays "go"', f"{split} {n} {label}", label)
        for n in range(count)
        for label in GRADE
    ]


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path, [*rows_of(20, split="train"), *rows_of(5, split="dev"), *rows_of(6, split="test")])
    return all_nli.read(tmp_path, name="all_nli")


def test_classes_are_grades_in_their_order_and_sides_those_of_the_file(corpus):
    texts = corpus.texts.to_pylist()
    assert {split: len(pairs) for split, pairs in corpus.pairs.items()} == {"train": 60, "val": 15, "test": 18}
    for split, part in {"train": "train", "val": "dev", "test": "test"}.items():
        pairs = corpus.pairs[split]
        for left, right, grade in zip(pairs.left, pairs.right, pairs.label):
            number, label = texts[right].removeprefix(f"{part} ").split()
            assert texts[left] == f'{part} person {number} plays "go"'
            assert grade == GRADE[label]


def test_premises_and_what_they_entail_are_the_duplicates(corpus):
    pairs, cluster = corpus.pairs["train"], corpus.groups["cluster"]
    assert ((cluster[pairs.left] == cluster[pairs.right]) == (pairs.label == 2)).all()


def test_neutral_and_contradicting_pairs_are_negatives_of_labelled_pairs_and_classes_of_graded_ones(corpus, tmp_path):
    same = LabelledPairs("random", "cluster").index(corpus, tmp_path).label
    classes = GradedPairs().index(corpus, tmp_path).label
    np.testing.assert_array_equal(np.bincount(classes.astype(int)), [20, 20, 20])
    np.testing.assert_array_equal(same, classes == 2)


def test_rows_without_a_class_a_split_or_a_sentence_are_counted(tmp_path):
    odd = [
        ("train", "SNLI", "f", "a", "b", "-"),
        ("x", "SNLI", "f", "a", "b", "neutral"),
        ("dev", "", "f", "", "b", "neutral"),
    ]
    write(tmp_path, [*rows_of(20, split="train"), *rows_of(5, split="dev"), *rows_of(5, split="test"), *odd])
    card = all_nli.read(tmp_path, name="all_nli", max_bad_rows=0.1).card
    assert card["malformed"] == {"unknown_split": 1, "unknown_label": 1, "empty_sentence": 1}
    assert card["rows"] == 93


def test_a_limit_keeps_every_class_in_every_split(corpus, tmp_path):
    small = all_nli.read(tmp_path, name="all_nli", limit=30)
    assert all(set(pairs.label) == {0, 1, 2} for pairs in small.pairs.values())


def test_another_header_is_refused(tmp_path):
    write(tmp_path, rows_of(3, split="train"), header=("premise", "hypothesis", "label", "x", "y", "z"))
    with pytest.raises(ValueError, match=r"AllNLI\.tsv: expected the tab-separated header .*'sentence1'"):
        all_nli.read(tmp_path, name="all_nli")

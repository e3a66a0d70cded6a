"""What a student is trained on: the files of a trained model and the labelled pairs, put together."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from twicetold import layout
from twicetold_lab.examples.labelled import LabelledPairs
from twicetold_lab.examples.self_training import PseudoLabels, TeacherSimilarities
from twicetold_lab.mining.pseudo_labels import PseudoPairs
from twicetold_lab.mining.similarities import Similarities

LEFT, RIGHT, LABEL = [0, 1, 5], [10, 20, 30], [0.75, 0.25, 0.625]


@pytest.fixture
def mined(tmp_path, questions):
    """The folder of both kinds of examples of `questions`."""
    card = {"train": questions.train_digest()}
    pseudo = PseudoPairs(
        np.array(LEFT), np.array(RIGHT), np.array(LABEL, np.float32), np.array([0.99, 0.01, 0.97]), card
    )
    pseudo.save(layout.mined_file(tmp_path, "pseudo_labels"))
    ends = (np.array(LEFT), np.array(RIGHT), np.array([3, 4, 6]))
    near, far = (np.array(values, np.float32) for values in ([0.9, 0.5, 0.25], [0.5, 0.25, 0.5]))
    Similarities(*ends, near, far, card).save(layout.mined_file(tmp_path, "similarities"))
    return tmp_path


@pytest.mark.parametrize("duplicates_only", [False, True])
def test_pseudo_labels_come_after_the_labelled_pairs_and_join_no_groups(questions, mined, duplicates_only):
    index = PseudoLabels("random", "cluster", duplicates_only, mined=f"{mined}").index(questions, mined)
    labelled = LabelledPairs("random", "cluster", duplicates_only).index(questions, mined)
    kept = [row for row in range(3) if LABEL[row] > 0.5 or not duplicates_only]
    assert index.anchor.tolist() == [*labelled.anchor.tolist(), *(LEFT[row] for row in kept)]
    assert index.positive.tolist() == [*labelled.positive.tolist(), *(RIGHT[row] for row in kept)]
    assert index.label.tolist() == [*labelled.label.tolist(), *(LABEL[row] for row in kept)]
    for texts, group in ((index.anchor, index.group), (index.positive, index.positive_group)):
        np.testing.assert_array_equal(group, questions.groups["cluster"][texts])


def test_a_teacher_that_labelled_nothing_changes_nothing(questions, mined, tmp_path):
    nothing = np.empty(0, np.int64)
    card = {"train": questions.train_digest()}
    empty = PseudoPairs(nothing, nothing, nothing.astype(np.float32), nothing.astype(np.float64), card)
    empty.save(layout.mined_file(tmp_path / "empty", "pseudo_labels"))
    index = PseudoLabels("random", "cluster", mined=f"{tmp_path / 'empty'}").index(questions, mined)
    for name, values in vars(LabelledPairs("random", "cluster").index(questions, mined)).items():
        np.testing.assert_array_equal(values, getattr(index, name))


def test_similarities_are_two_pairs_of_each_triplet_or_its_margin(questions, mined):
    pairs = TeacherSimilarities(f"{mined}", margins=False).index(questions, mined)
    assert pairs.anchor.tolist() == LEFT + LEFT
    assert pairs.positive.tolist() == [*RIGHT, 3, 4, 6]
    np.testing.assert_allclose(pairs.label, [0.9, 0.5, 0.25, 0.5, 0.25, 0.5])
    triplets = TeacherSimilarities(f"{mined}", margins=True).index(questions, mined)
    assert (triplets.anchor.tolist(), triplets.positive.tolist(), triplets.negative.tolist()) == (
        LEFT,
        RIGHT,
        [3, 4, 6],
    )
    np.testing.assert_allclose(triplets.label, [0.4, 0.25, -0.25])
    assert triplets.label.dtype == pairs.label.dtype == np.float32
    assert pairs.group is triplets.group is None


@pytest.mark.parametrize("strategy", ["pseudo_labels", "similarities"])
def test_what_was_not_mined_is_an_error_that_names_the_command(questions, tmp_path, strategy):
    examples = {
        "pseudo_labels": PseudoLabels("random", "cluster", mined=f"{tmp_path}"),
        "similarities": TeacherSimilarities(f"{tmp_path}", margins=False),
    }[strategy]
    with pytest.raises(FileNotFoundError, match=rf"pipelines/mine_with_model.py data=questions mining={strategy}"):
        examples.index(questions, tmp_path)


def test_what_was_mined_from_another_train_split_is_an_error(questions, mined):
    other = replace(questions, texts=pa.array([f"{text} more" for text in questions.texts.to_pylist()]))
    for examples in (
        PseudoLabels("random", "cluster", mined=f"{mined}"),
        TeacherSimilarities(f"{mined}", margins=True),
    ):
        with pytest.raises(ValueError, match="another train split"):
            examples.index(other, mined)

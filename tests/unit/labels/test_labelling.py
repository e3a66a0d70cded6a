"""Answers are kept, and the draw that they belong to."""

import json
from dataclasses import replace

import numpy as np
import pytest

from twicetold.labels.calibration import read_pairs
from twicetold.labels.labelling import draw_file, labelling, read_labelling
from twicetold.trained.loaded import LoadedModel
from twicetold_lab.data.sources import pairs as own_pairs


@pytest.fixture
def begin(run, questions, tmp_path):
    """Begins a labelling of the tiny questions, or goes on with it."""
    model, texts = run(), questions.texts.to_pylist()

    def _begin(**options):
        return labelling(**{"out": tmp_path / "pairs.csv", "model": model, "texts": texts, **options})

    return _begin


def answer(state, count):
    for _ in range(count):
        number = state.next
        pair = state.pairs[number]
        state.label(number, pair.left.split()[-1] == pair.right.split()[-1])  # the word that names the story


def test_what_was_answered_is_there_again(begin):
    state = begin(pairs=20)
    answer(state, 4)
    state.label(state.next, None)
    answer(state, 2)
    again = begin()
    assert again == state
    assert (again.next, again.skipped, len(again.labels)) == (7, {4}, 6)


def test_going_on_needs_no_model(begin, monkeypatch):
    answer(begin(pairs=20), 3)
    monkeypatch.setattr(LoadedModel, "from_folder", lambda *_: pytest.fail("the model was loaded"))
    assert begin(pairs=20).next == 3


def test_back_forgets_the_last_answer_labelled_or_skipped(begin):
    state = begin(pairs=20)
    assert not state.back(0)
    answer(state, 2)
    state.label(2, None)
    assert state.back(3)
    assert (state.next, begin().skipped) == (2, set())
    assert state.back(2)
    assert (state.next, begin().next) == (1, 1)
    assert state.back(1)
    assert not state.out.exists()


def test_more_pairs_are_added_to_the_same_draw(begin):
    small = begin(pairs=12)
    answer(small, 12)
    large = begin(pairs=40)
    assert large.pairs[:12] == small.pairs
    assert (len(large.pairs), large.next, large.labels) == (40, 12, small.labels)
    assert len(begin(pairs=5).pairs) == 40
    assert len(begin().pairs) == 40


def test_more_pairs_are_added_where_the_last_digits_of_scores_are_other_ones_and_not_where_pairs_are(begin):
    state = begin(pairs=12)
    state.pairs = [replace(pair, score=pair.score + 1e-7) for pair in state.pairs]
    state.save_draw()
    assert len(begin(pairs=20).pairs) == 20
    state.pairs = state.pairs[::-1]
    state.save_draw()
    with pytest.raises(ValueError, match="ranks pairs otherwise"):
        begin(pairs=20)


def test_the_file_says_with_what_probability_each_pair_was_labelled(begin):
    state = begin(pairs=40)
    answer(state, 30)
    read = read_pairs(state.out)
    bands = [state.pairs[number].band for number in read.numbers]
    in_file = np.bincount(bands, read.weight, minlength=len(state.candidates))
    met = np.bincount(bands, minlength=len(state.candidates)) > 0
    np.testing.assert_allclose(in_file[met], np.array(state.candidates)[met])
    assert read.label.tolist() == [state.labels[number] for number in range(30)]


def test_a_label_that_is_corrected_by_hand_stays_corrected(begin):
    state = begin(pairs=20)
    answer(state, 3)
    lines = state.out.read_text().splitlines()
    pair, left, right, label, *others = lines[2].split(",")
    lines[2] = ",".join([pair, left, right, str(1 - int(label)), *others])
    state.out.write_text("\n".join(lines) + "\n")
    again = begin()
    assert again.labels[1] != state.labels[1]
    answer(again, 1)
    assert begin().labels[1] == again.labels[1]


def test_another_model_or_file_is_refused(begin, run, questions, tmp_path):
    begin(pairs=10)
    for options, what in (
        ({"model": run("static")}, "model"),
        ({"texts": questions.texts.to_pylist()[1:]}, "text"),
    ):
        with pytest.raises(ValueError, match=f"was begun with another {what} than this one"):
            begin(**options)


def test_a_file_of_somebody_else_is_not_overwritten(begin, tmp_path):
    (tmp_path / "pairs.csv").write_text("left,right,label\na,b,1\n")
    with pytest.raises(ValueError, match="the draw that it belongs to is not"):
        begin()
    with pytest.raises(ValueError, match=r"ends in \.csv, got .*pairs\.parquet"):
        begin(out=tmp_path / "pairs.parquet")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("99,a,b,1", "line 2, column 'pair': expected the number of a drawn pair, 1 to 10"),
        ("x,a,b,1", "line 2, column 'pair'"),
        (
            "1,a,b,perhaps",
            "line 2, column 'label': expected 1 or 0, true or false, yes or no, or nothing; got 'perhaps'",
        ),
        ("1,a,b,1\n1,a,b,1", "line 3, column 'pair': .* each once"),
    ],
)
def test_faulty_labels_are_named(begin, tmp_path, row, message):
    begin(pairs=10)
    (tmp_path / "pairs.csv").write_text(f"pair,left,right,label\n{row}\n")
    with pytest.raises(ValueError, match=message):
        begin()


def test_answers_that_a_person_wrote_are_read_and_an_empty_one_is_none(begin, tmp_path):
    begin(pairs=10)
    rows = ["1,a,b,Yes", "2,a,b,no", "3,a,b,", "4,a,b,1.0", "5,a,b, "]
    (tmp_path / "pairs.csv").write_text("\n".join(["pair,left,right,label", *rows, ""]))
    assert begin().labels == {0: True, 1: False, 3: True}


def test_a_damaged_draw_is_named(begin, tmp_path):
    state = begin(pairs=10)
    with pytest.raises(FileNotFoundError, match="no labelling was begun in"):
        read_labelling(tmp_path / "others.csv")
    content = json.loads(draw_file(state.out).read_text())
    for damaged in (draw_file(state.out).read_text()[:100], json.dumps({**content, "pairs": [{"left": "a"}]}), "[]"):
        draw_file(state.out).write_text(damaged)
        with pytest.raises(ValueError, match=r"pairs\.csv\.draw\.json is damaged"):
            begin()


def test_texts_of_any_kind_survive_the_file(begin, tmp_path):
    texts = ['"quoted", bank', "bank\r\nrate\rcut", "bank\nrate", "  bank cut ", "bank;\ttab", "é bank 中", "-bank"]
    state = begin(texts=[*texts, texts[0]], pairs=100)
    answer(state, len(state.pairs))
    read = read_pairs(state.out)
    shown = {text.strip().replace("\r\n", "\n").replace("\r", "\n") for text in texts}
    assert {*read.left, *read.right} <= shown
    assert len(read.label) == len(state.pairs) > 5


def test_the_file_is_a_dataset(begin):
    state = begin(pairs=60)
    answer(state, 60)
    columns = {"left": "left", "right": "right", "label": "label"}
    corpus = own_pairs.read(state.out.parent, name="mine", path=state.out, **columns)
    count = sum(len(pairs.label) for pairs in corpus.pairs.values())
    assert count == 60
    assert sum(pairs.label.sum() for pairs in corpus.pairs.values()) == sum(state.labels.values())

"""Questions about the pairs that the matcher is least sure of."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

import twicetold
from twicetold.dedupe.constraints import Contradiction

with (Path(__file__).parents[3] / "examples/questions.csv").open(newline="") as _file:
    TEXTS = [row["question"] for row in csv.DictReader(_file)][:120]


@pytest.fixture(scope="module")
def model():
    return twicetold.fit(TEXTS, lexical=True)


@pytest.fixture
def questions(model):
    return model.questions(TEXTS)


def ask(questions, count, answer):
    asked = []
    questions.ask(lambda question: asked.append(question) or answer(question), count)
    return asked


def test_the_first_question_is_the_hardest_pair_and_its_texts_are_alike(model, questions):
    (first,) = questions.next()
    assert [first] == questions.next()  # until it is answered
    assert 0.3 < first.probability < 0.7
    assert set(first.left_text.lower().split()) & set(first.right_text.lower().split())
    assert (first.left_text, first.right_text) == (TEXTS[first.left], TEXTS[first.right])
    assert first.left < first.right
    others = model.dedupe(TEXTS, threshold=0.1).links.probability
    assert abs(first.probability - 0.5) <= np.abs(others - 0.5).min() + 1e-9


def test_a_round_is_of_different_texts_and_nothing_is_asked_twice(questions):
    asked = questions.next(6)
    assert len({row for each in asked for row in (each.left, each.right)}) == 12
    for each in asked:
        questions.answer(each, None)
    assert not {(each.left, each.right) for each in asked} & {(each.left, each.right) for each in questions.next(20)}


@pytest.mark.parametrize("seed", range(3))
def test_no_answers_contradict_each_other_whatever_a_person_says(model, questions, seed):
    draw = np.random.default_rng(seed)
    asked = ask(questions, 40, lambda question: [True, False, None][draw.integers(3)])
    assert len(asked) == 40
    groups = model.dedupe(TEXTS, pairs=questions.pairs).group
    for left, right, same in zip(*questions.pairs, strict=True):
        assert same is None or (groups[left] == groups[right]) == same


def test_the_questions_end_when_every_answer_follows():
    texts = ["red shoe 42", "red shoe 42 x", "red shoe 42 xy"]
    questions = twicetold.fit(texts, lexical=True).questions(texts)
    assert len(ask(questions, 9, lambda question: True)) == 2  # of three pairs
    assert questions.next() == []


def test_a_wrong_answer_is_refused_and_undo_takes_the_last_one_back(questions):
    first, second = ask(questions, 2, lambda question: True)
    with pytest.raises(Contradiction):
        questions.answer(first, False)
    assert questions.pairs[2] == [True, True]
    again = questions.undo()
    assert (again.left, again.right) == (second.left, second.right)
    assert again.probability == pytest.approx(second.probability)
    assert questions.next() == [second]
    questions.undo()
    assert questions.next() == [first]
    with pytest.raises(ValueError, match="no answer to take back"):
        questions.undo()


def test_answers_go_on_in_another_session_and_move_the_groups(model, questions):
    asked = ask(questions, 12, lambda question: True)
    later = model.questions(TEXTS, pairs=questions.pairs)
    assert later.next() == questions.next()
    assert later.pairs == questions.pairs
    before, after = model.dedupe(TEXTS), model.dedupe(TEXTS, pairs=questions.pairs)
    assert len(after.links) > len(before.links) + sum(each.probability < 0.5 for each in asked)


def test_questions_are_within_the_limits_of_the_dedupe(model):
    half = [number % 2 for number in range(len(TEXTS))]
    asked = model.questions(TEXTS, same=[half]).next(30)
    assert asked
    assert all(half[each.left] == half[each.right] for each in asked)


def test_a_decision_about_a_cosine_has_no_questions_and_vectors_without_one_have(by_cosine):
    texts = ["a tent", "the tent", "a shoe"]
    vectors = np.eye(3, dtype=np.float32) + 0.5
    with pytest.raises(TypeError, match="label draw pairs"):
        by_cosine(texts, vectors).questions(texts)
    [question] = twicetold.fit(texts, vectors=lambda some: vectors[: len(some)]).questions(texts).next()
    assert {question.left, question.right} < {0, 1, 2}


def test_equal_texts_are_one_and_no_pair_of_them_is_asked_about():
    texts = list(itertools.chain(*zip(TEXTS[:60], TEXTS[:60], strict=True)))
    asked = twicetold.fit(texts, lexical=True).questions(texts).next(30)
    assert all(each.left % 2 == each.right % 2 == 0 for each in asked)


def test_the_groups_so_far_are_those_of_a_dedupe_and_pairs_with_an_answer_are_in_no_doubt(model, questions):
    asked = {(each.left, each.right) for each in ask(questions, 12, lambda question: question.left % 3 == 0)}
    groups, found = questions.groups(), model.dedupe(TEXTS, pairs=questions.pairs)
    assert groups.counts == (found.summary.counts.groups, found.summary.counts.grouped)
    shown = questions.doubtful(groups, 50)
    assert any(inside for inside, _ in shown)
    assert any(outside for _, outside in shown)
    for inside, outside in shown:
        assert all(found.group[each.left] == found.group[each.right] for each in inside)
        assert all(found.group[each.left] != found.group[each.right] for each in outside)
        assert not asked & {tuple(sorted((each.left, each.right))) for each in outside}

"""Questions with buttons in a notebook."""

import sys

import pytest

import twicetold
from twicetold.dedupe.buttons import QuestionButtons

TEXTS = ["canon eos 70d", "Canon EOS-70D body", "canon eos 80d", "a tent", "a tent, green <b>"]


@pytest.fixture
def questions():
    return twicetold.fit(TEXTS, lexical=True).questions(TEXTS)


def press(shown: QuestionButtons, label: str) -> None:
    next(button for button in shown.children[1].children if button.description == label).click()


def test_each_button_keeps_its_answer_and_shows_the_next_question_until_none_is_left(questions):
    shown, said = QuestionButtons(questions), []
    for label in ("different", "the same", "cannot say", *["different"] * len(TEXTS) ** 2):
        if "Nothing is left" in shown.children[0].value:
            break
        said.append({"different": False, "the same": True, "cannot say": None}[label])
        press(shown, label)
    assert "Nothing is left" in shown.children[0].value
    assert questions.pairs[2] == said
    assert all(button.disabled for button in shown.children[1].children[:3])


def test_undo_shows_the_last_question_again(questions):
    shown = QuestionButtons(questions)
    first = shown.children[0].value
    press(shown, "the same")
    assert shown.children[0].value != first
    press(shown, "undo")
    assert (shown.children[0].value, questions.pairs) == (first, ([], [], []))
    press(shown, "undo")
    assert "no answer to take back" in shown.children[2].value


def test_texts_are_escaped_and_what_differs_is_marked(questions):
    shown = QuestionButtons(questions)
    assert "a tent<mark>, green &lt;b&gt;</mark>" in shown.children[0].value


def test_a_contradiction_is_told_and_the_question_stays(questions):
    shown = QuestionButtons(questions)
    asked = shown._asked
    questions.answer(asked, False)  # elsewhere, as on another cell's buttons
    press(shown, "the same")
    assert "Earlier answers say otherwise" in shown.children[2].value
    assert len(questions.pairs[0]) == 1


def test_a_notebook_shows_the_buttons_or_without_the_package_how_to_install_it(questions, monkeypatch):
    assert "application/vnd.jupyter.widget-view+json" in questions._repr_mimebundle_()
    for name in ("ipywidgets", "twicetold.dedupe.buttons"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "twicetold.dedupe.buttons")
    assert "twicetold[notebook]" in questions._repr_mimebundle_()["text/plain"]

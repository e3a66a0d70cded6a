"""Questions in a notebook: two texts with what differs marked, and a button for each answer."""

from html import escape
from typing import Any

from ipywidgets import HTML, Button, HBox, Label, VBox

from twicetold.dedupe.constraints import Contradiction
from twicetold.dedupe.html_table import NOT_MATHS
from twicetold.printable import changes_in_brief, counted

ANSWERS = {"the same": True, "different": False, "cannot say": None}
"""By the label of its button."""
_TEXT = '<p dir="auto" style="margin:.3em 0;white-space:pre-wrap;overflow-wrap:anywhere">{}</p>'


class QuestionButtons(VBox):
    """Questions one after another, answered by buttons; they go on where earlier answers stopped.

    Args:
        questions: `questions.Questions` that are asked, and that keep the answers.
    """

    def __init__(self, questions: Any) -> None:
        self._questions = questions
        self._asked: Any = None
        self._texts, self._said = HTML(), Label()
        self._answers = [Button(description=label) for label in ANSWERS]
        for button in self._answers:
            button.on_click(lambda pressed: self._answer(ANSWERS[pressed.description]))
        undo = Button(description="undo")
        undo.on_click(lambda _: self._undo())
        super().__init__([self._texts, HBox([*self._answers, undo]), self._said])
        self._show(next(iter(questions.next()), None))

    def _answer(self, same: bool | None) -> None:
        assert self._asked is not None
        try:
            self._questions.answer(self._asked, same)
        except Contradiction:
            self._said.value = "Earlier answers say otherwise: take them back first."
        else:
            self._show(next(iter(self._questions.next()), None))

    def _undo(self) -> None:
        try:
            self._show(self._questions.undo())
        except ValueError:
            self._said.value = "There is no answer to take back."

    def _show(self, asked: Any) -> None:
        self._asked = asked
        for button in self._answers:
            button.disabled = asked is None
        self._texts.value = "Nothing is left to ask." if asked is None else _marked(asked.left_text, asked.right_text)
        groups, number = self._questions.groups(), len(self._questions.pairs[0])
        found = "" if groups is None else f"; {counted(groups.counts[0], 'group')} of {groups.counts[1]:,} texts"
        self._said.value = f"{counted(number, 'answer')}{found}"


def _marked(one: str, other: str) -> str:
    """Return two texts below each other in HTML, with what differs marked."""
    changes = changes_in_brief(one, other)
    runs = [[(left, same) for left, _, same in changes], [(right, same) for _, right, same in changes]]
    sides = ("".join(escape(run) if same else f"<mark>{escape(run)}</mark>" for run, same in side) for side in runs)
    return f'<div class="{NOT_MATHS}">{"".join(_TEXT.format(side) for side in sides)}</div>'

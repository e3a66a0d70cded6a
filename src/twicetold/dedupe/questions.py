"""Questions to a person about the pairs of a file that the matcher is least sure of, and the answers.

An answer moves the matcher (`matching.matcher`), and so decides which pair comes next. A pair whose answer follows from
others is not asked about: if a and b are the same, and b and c, so are a and c. Answers therefore do not contradict
each other, whatever they are. Texts that are the same as two of which a person cannot say are not asked about either.

Shape letters: n texts, m distinct texts, C candidates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from twicetold.dedupe.answered_groups import AnsweredGroups, Pair
from twicetold.dedupe.constraints import Constraints, pair_keys
from twicetold.dedupe.options import DedupeOptions
from twicetold.dedupe.prepared import Prepared
from twicetold.matching.comparison import Comparison
from twicetold.matching.questions import questions
from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.rules import Rule
from twicetold.packages import PackageMissing, naming_the_extra
from twicetold.tables.columns import MISSING, answers_of
from twicetold.trained.loaded import LoadedModel

Answers: TypeAlias = tuple[list[int], list[int], list[bool | None]]


@dataclass(frozen=True)
class Question:
    """A pair of texts to ask about.

    Args:
        left: row of the one text, from 0.
        right: row of the other, which comes later.
        left_text: the one text.
        right_text: the other.
        probability: that both are duplicates, by the matcher after the answers so far.
    """

    left: int
    right: int
    left_text: str
    right_text: str
    probability: float


class Questions:
    """Questions about texts, the hardest first, and the answers to them.

    Args:
        comparison: m distinct texts, with their candidate pairs.
        place: (n,) the distinct text of each.
        rows: (m,) a row with each distinct text.
        texts: n of them.
        answers: to pairs of them that were asked about before, as `pairs` gives them.
        grouping: rule and minimum probability of links of the groups; None: no groups are made.

    Examples:
        >>> import twicetold
        >>> texts = ["canon eos 70d", "Canon EOS-70D body", "canon eos 80d", "a tent", "a tent, green"]
        >>> model = twicetold.fit(texts, lexical=True)
        >>> questions = model.questions(texts)
        >>> for question in questions.next():  # the least certain pair: show it to a person
        ...     questions.answer(question, "80d" not in question.left_text + question.right_text)
        >>> questions.ask(lambda question: "80d" not in question.left_text + question.right_text, count=2)
        >>> left, right, same = questions.pairs
        >>> len(same)
        3
        >>> model.dedupe(texts, pairs=questions.pairs).group
        array([0, 0, 1, 2, 2])
    """

    def __init__(
        self,
        comparison: Comparison,
        place: Ints,
        rows: Ints,
        texts: Sequence[str],
        answers: Answers = ([], [], []),
        grouping: tuple[Rule, float | None] | None = None,
    ) -> None:
        self._comparison, self._place, self._rows = comparison, place, rows
        self._texts, self._answers, self._grouping = texts, answers, grouping

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        texts: Sequence[str],
        options: DedupeOptions,
        *,
        progress: Callable[[str], None],
    ) -> "Questions":
        """Return questions about the pairs that a dedupe would compare; arguments and errors: `dedupe`.

        Raises:
            TypeError: if no generic matcher compares the texts.
        """
        prepared = Prepared.of(model, texts, options, progress=progress)
        comparison = prepared.comparison
        if comparison is None:
            raise TypeError(
                "questions are about pairs that the generic matcher compares, and this model compares texts by a "
                "score of its own: leave MODEL out (twicetold.fit(texts)), or let label draw pairs for it"
            )
        if options.sense == "same" and not prepared.constraints and not prepared.link.calibrated:
            comparison = comparison.in_valley()  # as answers start from there
        left, right, same = options.pairs or ((), (), ())
        known = [None if answer == MISSING else answer == 1 for answer in answers_of(same).tolist()]
        asked = np.asarray(left).tolist(), np.asarray(right).tolist(), known
        distinct, grouped = prepared.distinct, options.sense != "topic" and not prepared.link.calibrated
        grouping = (options.rule, options.threshold) if grouped else None
        return cls(comparison, distinct.place, distinct.rows, texts, asked, grouping)

    def _repr_mimebundle_(self, **asked: Any) -> Any:
        """Return the questions with buttons, as a notebook asks for."""
        try:
            with naming_the_extra("a question with buttons"):
                from twicetold.dedupe.buttons import QuestionButtons
        except PackageMissing as missing:
            return {"text/plain": f"{self!r}\n{missing}"}
        return QuestionButtons(self)._repr_mimebundle_(**asked)

    @property
    def pairs(self) -> Answers:
        """Rows of texts, rows of others, and the answer to each pair: the option `pairs` of a dedupe."""
        left, right, same = self._answers
        return left[:], right[:], same[:]

    def next(self, count: int = 1) -> list[Question]:
        """Return the pairs to ask about next, `count` at most; the answers of one round are independent of each other.

        There are fewer where no more pairs of near texts are left whose answer does not follow from others.
        """
        known = self._known()
        left, right = self._comparison.ends
        part = components(len(self._rows), *known.must_link)
        closed = np.flatnonzero(self._closed(part)).tolist()
        matcher = self._moved(known).matcher
        chosen, seen = [], set[int]()
        for pair in questions(self._comparison, matcher, closed, count=count).tolist():
            parts = {int(part[left[pair]]), int(part[right[pair]])}
            if not parts & seen:
                seen |= parts
                chosen.append(pair)
        probability = matcher.probability({name: column[chosen] for name, column in self._comparison.columns.items()})
        rows = (self._rows[side[chosen]].tolist() for side in (left, right))
        return [self._question(*each) for each in zip(*rows, probability.tolist(), strict=True)]

    def answer(self, question: Question, same: bool | None) -> None:
        """Keep an answer; None: the person cannot say, and is not asked again.

        Raises:
            Contradiction: if answers that were given before say otherwise.
        """
        left, right, answers = self.pairs
        given = ([*left, question.left], [*right, question.right], [*answers, same])
        Constraints.of(len(self._texts), *given)
        self._answers = given

    def ask(self, answer: Callable[[Question], bool | None], count: int) -> None:
        """Let a function answer questions one by one, such as one that asks a language model.

        Args:
            answer: gives the answer to a question.
            count: of questions; fewer are asked where no pair is left.
        """
        for _ in range(count):
            for question in self.next():
                self.answer(question, answer(question))

    def undo(self) -> Question:
        """Forget the last answer.

        Returns:
            the question, to ask again.

        Raises:
            ValueError: if there is no answer.
        """
        if not self._answers[0]:
            raise ValueError("there is no answer to take back")
        (*left, one), (*right, other), (*answers, _) = self._answers
        self._answers = (left, right, answers)
        ends = self._place[[one]], self._place[[other]]
        return self._question(one, other, float(expit(self._moved(self._known()).score(*ends)[0])))

    def groups(self) -> AnsweredGroups | None:
        """Return the groups that a dedupe makes with the answers so far; None of topics and of two tables."""
        if self._grouping is None:
            return None
        known, (rule, threshold) = self._known(), self._grouping
        return AnsweredGroups.of(self._moved(known), known, self._place, rule=rule, threshold=threshold)

    def doubtful(self, groups: AnsweredGroups, most: int) -> list[tuple[list[Question], list[Question]]]:
        """Return the least certain groups: their first text with each other one, and texts of them with near ones.

        The pairs are questions, whose answers `answer` takes; the text of the group comes first.
        """
        shown = groups.doubtful_first(most)
        return [([*map(self._about, inside)], [*map(self._about, outside)]) for inside, outside in shown]

    def _about(self, pair: Pair) -> Question:
        left, right = self._rows[[*pair[:2]]].tolist()
        return Question(left, right, self._texts[left], self._texts[right], pair[2])

    def _question(self, left: int, right: int, probability: float) -> Question:
        one, other = min(left, right), max(left, right)
        return Question(one, other, self._texts[one], self._texts[other], probability)

    def _known(self) -> Constraints:
        """Return the answers that say something, about distinct texts."""
        return Constraints.of(len(self._texts), *self._answers).of_distinct(self._place)

    def _moved(self, known: Constraints) -> Comparison:
        return self._comparison.answered(known.left, known.right, known.same)

    def _closed(self, part: Ints) -> NDArray[np.bool_]:
        """Return (C,) true of candidates of two parts that a person was asked about, or of one part.

        Args:
            part: (m,) the part of each text; those that are the same by the answers are in one.
        """
        asked = (part[self._place[np.asarray(side, np.int64)]] for side in self._answers[:2])
        one, other = (part[side] for side in self._comparison.ends)
        closed = np.isin(pair_keys(len(part), one, other), pair_keys(len(part), *asked))
        return np.asarray((one == other) | closed)

"""Pairs of rows with the answers of a person, in one file, and questions that are asked (`Asking`).

The file is replaced as a whole after each answer, under a temporary name first, so a kill loses no answer. What else is
in it stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from twicetold.dedupe.questions import Question, Questions
from twicetold.tables.blocks import Block
from twicetold.tables.columns import MISSING, answers_of
from twicetold.tables.files import open_rows, write_rows

LEFT, RIGHT, SAME = "left_text", "right_text", "same"
ASKED = ("left", "right", LEFT, RIGHT, "probability", SAME)  # columns of a file of answers


class TextPair(NamedTuple):
    """Two texts."""

    left: str
    right: str


@dataclass
class Review:
    """Pairs of a file and the answers so far.

    Args:
        file: with the pairs.
        format: that it has.
        table: its rows.
        pairs: in the order of the file.
        delimiter: between fields of .csv.
    """

    file: Path
    format: str
    table: pa.Table
    pairs: list[TextPair]
    delimiter: str | None = None

    @classmethod
    def read(cls, file: Path) -> "Review":
        """Read a file of answers.

        Raises:
            FileNotFoundError: if there is none.
            ValueError: if it has other columns.
        """
        with open_rows(file) as rows:
            for name in (LEFT, RIGHT, SAME):
                rows.require(name)
            table = pa.concat_tables(block.table for block in rows.blocks([LEFT, RIGHT]))
        sides = (table[name].to_pylist() for name in (LEFT, RIGHT))
        pairs = [TextPair(*pair) for pair in zip(*sides, strict=True)]
        return cls(file, rows.format, table, pairs, delimiter=rows.delimiter)

    @property
    def answers(self) -> list[bool | None]:
        """The answer to each pair; None if there is none."""
        return [None if answer == MISSING else answer == 1 for answer in answers_of(self.table[SAME]).tolist()]

    def add(self, values: Sequence[object], same: bool | None) -> None:
        """Add a pair of a file of answers with its answer; None: there is none."""
        row = pa.table({name: [str(value)] for name, value in zip(ASKED, values, strict=False)})
        row = row.append_column(SAME, pa.array([None if same is None else str(int(same))], pa.string()))
        self.table = pa.concat_tables([self.table, row], promote_options="default")
        self.pairs.append(TextPair(str(values[2]), str(values[3])))
        self._write()

    def remove_last(self) -> None:
        """Remove the last pair; with the only one goes the file."""
        self.table = self.table.slice(0, len(self.table) - 1)
        self.pairs.pop()
        if self.pairs:
            self._write()
        else:
            self.file.unlink(missing_ok=True)

    def _write(self) -> None:
        with write_rows(self.file, format=self.format, delimiter=self.delimiter) as write:
            write(Block(self.table, np.arange(1, len(self.pairs) + 1)))


@dataclass
class Asking:
    """Questions about the pairs that the matcher is least sure of; each answer is added to a file of answers.

    Args:
        questions: with the answers of the file, if there is one, as the last ones.
        review: the file.
        names: of the rows, by which the file names them.
        count: of pairs that the file has in the end.
        beside: further columns, a value of each row, which are shown below the texts.
    """

    questions: Questions
    review: Review
    names: Sequence[Any]
    count: int
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _open: Question | None = None

    @classmethod
    def begin(
        cls,
        file: Path,
        questions: Questions,
        names: Sequence[Any],
        *,
        count: int,
        beside: Mapping[str, Sequence[str]] | None = None,
    ) -> "Asking":
        """Go on with a file of answers, or begin one, which is there once a question is answered.

        Raises:
            ValueError: if the file does not end in .csv, or was not written by this.
        """
        if file.suffix.lower() != ".csv":
            raise ValueError(f"expected a file of answers that ends in .csv, got {file}")
        new = pa.table({name: pa.array([], pa.string()) for name in ASKED})
        review = Review.read(file) if file.exists() else Review(file, "csv", new, [])
        return cls(questions, review, names, count, beside or {})

    @property
    def next(self) -> int | None:
        """Number of the next question, from 0; None if enough were asked or no pair is left."""
        if self._open is None and len(self.review.pairs) < self.count:
            self._open = next(iter(self.questions.next()), None)
        return None if self._open is None else len(self.review.pairs)

    @property
    def pairs(self) -> list[TextPair]:
        """The pairs of the file, and the one that is asked about."""
        asked = self._open
        if asked is None:
            return self.review.pairs
        sides = ((asked.left, asked.left_text), (asked.right, asked.right_text))
        return [*self.review.pairs, TextPair(*(self._shown(row, text) for row, text in sides))]

    def _shown(self, row: int, text: str) -> str:
        """A text with the values of its row in further columns."""
        return "\n".join([text, *(f"{name}: {values[row]}" for name, values in self.beside.items() if values[row])])

    def label(self, number: int, same: bool | None) -> None:
        """Keep an answer; None: the person cannot say."""
        assert self._open is not None
        asked, self._open = self._open, None
        self.questions.answer(asked, same)
        names = (self.names[asked.left], self.names[asked.right])
        self.review.add((*names, asked.left_text, asked.right_text, round(asked.probability, 4)), same)

    def skip(self, number: int) -> None:
        """Keep that the person cannot say: the pair is not asked about again."""
        self.label(number, None)

    def back(self, number: int) -> bool:
        """Forget the last answer and ask again; False if there is none in the file."""
        if not self.review.pairs:
            return False
        self.review.remove_last()
        self._open = self.questions.undo()
        return True

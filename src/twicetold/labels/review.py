"""Questions about pairs of rows, whose answers are kept in one file (`Asking`).

The file is replaced as a whole after each answer, under a temporary name first, so a kill loses no answer. What else is
in it stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.dedupe.questions import Question, Questions
from twicetold.tables.blocks import Block
from twicetold.tables.files import open_rows, write_rows

LEFT, RIGHT, SAME = "left_text", "right_text", "same"
ASKED = ("left", "right", LEFT, RIGHT, "probability", SAME)  # columns of a file of answers
BY = "by"  # column with the name of the command that answered, where it was no person


@dataclass
class Asking:
    """Questions about the pairs that the matcher is least sure of; each answer is added to a file of answers.

    Args:
        file: of answers, which is there once a question is answered.
        table: its rows.
        questions: with the answers of the file, if there is one, as the last ones.
        names: of the rows, by which the file names them.
        count: of pairs that the file has in the end.
        beside: further columns, a value of each row, which are shown below the texts.
        delimiter: between fields of the file.
        stale: number of its first rows that are about texts of before.
    """

    file: Path
    table: pa.Table
    questions: Questions
    names: Sequence[Any]
    count: int
    beside: Mapping[str, Sequence[str]]
    delimiter: str | None = None
    stale: int = 0
    _open: Question | None = None

    @classmethod
    def begin(
        cls,
        file: Path,
        questions: Questions,
        names: Sequence[Any],
        *,
        count: int,
        beside: Mapping[str, Sequence[str]],
        stale: Sequence[int] | NDArray[np.int64] = (),
    ) -> "Asking":
        """Go on with a file of answers, or begin one; rows that are `stale` stay in it, before all others.

        Raises:
            ValueError: if the file does not end in .csv, or was not written by this.
        """
        if file.suffix.lower() != ".csv":
            raise ValueError(f"expected a file of answers that ends in .csv, got {file}")
        table, delimiter = pa.table({name: pa.array([], pa.string()) for name in ASKED}), None
        if file.exists():
            with open_rows(file) as rows:
                for name in (LEFT, RIGHT, SAME, *rows.columns):  # an answer is a row with a value of each column
                    rows.require(name)
                table = pa.concat_tables(block.table for block in rows.blocks([LEFT, RIGHT]))
            delimiter = rows.delimiter
            order = [*stale, *np.setdiff1d(np.arange(len(table)), np.asarray(stale, np.int64))]
            table = table.take(pa.array(order, pa.int64()))
        return cls(file, table, questions, names, count + len(stale), beside, delimiter, len(stale))

    @property
    def next(self) -> int | None:
        """Number of the next question, from 0; None if enough were asked or no pair is left."""
        return None if self.question is None else len(self.table)

    @property
    def question(self) -> Question | None:
        """The next question."""
        if self._open is None and len(self.table) < self.count:
            self._open = next(iter(self.questions.next()), None)
        return self._open

    def parts(self, asked: Question) -> list[tuple[str, str, str]]:
        """Return both texts of a question, without a name, and both values of each further column with its name."""
        further = [(name, values[asked.left], values[asked.right]) for name, values in self.beside.items()]
        return [("", asked.left_text, asked.right_text), *(part for part in further if any(part[1:]))]

    def sides(self, number: int) -> tuple[str, str]:
        """Return both texts of the next question, each with the values of its row in further columns."""
        asked = self.question
        assert asked is not None
        names, *sides = zip(*self.parts(asked), strict=True)
        shown = [
            "\n".join(f"{name}: {value}" if name else value for name, value in zip(names, side, strict=True) if value)
            for side in sides
        ]
        return shown[0], shown[1]

    def label(self, number: int, same: bool | None) -> None:
        """Keep an answer to the next question; None: the person cannot say, and is not asked about the pair again."""
        assert self._open is not None
        self.answer(self._open, same)

    def answer(self, asked: Question, same: bool | None, by: str | None = None) -> None:
        """Keep an answer to any question.

        Args:
            asked: the question.
            same: the answer.
            by: name of the command that gave it; None: a person did.

        Raises:
            Contradiction: if earlier answers say otherwise.
        """
        self.questions.answer(asked, same)
        self._open = None
        names = (self.names[asked.left], self.names[asked.right])
        answer = None if same is None else int(same)
        values = (*names, asked.left_text, asked.right_text, round(asked.probability, 4), answer)
        row = {name: [None if each is None else str(each)] for name, each in zip(ASKED, values, strict=True)}
        row |= {} if by is None else {BY: [by]}
        self.table = pa.concat_tables([self.table, pa.table(row)], promote_options="default")
        self._write()

    def back(self, number: int) -> bool:
        """Forget the last answer and ask again; False if there is none in the file. With the only one goes the file."""
        if len(self.table) == self.stale:
            return False
        self.table = self.table.slice(0, len(self.table) - 1)
        self._write()
        self._open = self.questions.undo()
        return True

    def _write(self) -> None:
        if not len(self.table):
            self.file.unlink(missing_ok=True)
            return
        with write_rows(self.file, format="csv", delimiter=self.delimiter) as write:
            write(Block(self.table, np.arange(1, len(self.table) + 1)))

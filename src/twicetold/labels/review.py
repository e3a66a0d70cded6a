"""Answers to the pairs of a review, which `twicetold dedupe --review` writes, in the file itself.

The file is replaced as a whole after each answer, under a temporary name first, so a kill loses no answer. What else is
in it stays.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold.labels.labelling import labels_of
from twicetold.tables.blocks import Block
from twicetold.tables.columns import MISSING, answers_of
from twicetold.tables.files import open_rows, write_rows

LEFT, RIGHT, SAME = "left_text", "right_text", "same"


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
        table: its rows; but in Parquet, all values are texts.
        pairs: in the order of the file.
        objects: of JSON lines, the rows as they are spelt.
        skipped: numbers of pairs, from 0; they stay without an answer.
        delimiter: between fields of .csv.
    """

    file: Path
    format: str
    table: pa.Table
    pairs: list[TextPair]
    objects: list[str] | None = None
    skipped: set[int] = field(default_factory=set)
    delimiter: str | None = None

    @classmethod
    def read(cls, file: Path, *, format: str | None = None, delimiter: str | None = None) -> "Review":
        """Read the file of a review.

        Raises:
            FileNotFoundError: if there is none.
            ValueError: if it has other columns.
        """
        with open_rows(file, format=format, delimiter=delimiter) as rows:
            for name in (LEFT, RIGHT, SAME):
                rows.require(name)
            blocks = list(rows.blocks([LEFT, RIGHT]))
        tables = [block.table for block in blocks]
        spelt = [text for block in blocks if block.objects is not None for text in block.objects.to_pylist()]
        for block in blocks:
            labels_of(block, SAME, file=file, unit=rows.unit)
        alike = all(table.schema.equals(tables[0].schema) for table in tables)
        table = pa.concat_tables(tables, promote_options="none" if alike else "permissive")
        answers = table.column_names.index(SAME)
        table = table.set_column(answers, SAME, table[SAME].cast(pa.string()))
        sides = (table[name].to_pylist() for name in (LEFT, RIGHT))
        pairs = [TextPair(*pair) for pair in zip(*sides, strict=True)]
        return cls(file, rows.format, table, pairs, spelt or None, delimiter=rows.delimiter)

    @property
    def answers(self) -> list[str | None]:
        """The answer to each pair as it is spelt; None if there is none."""
        spelt, answers = self.table[SAME].to_pylist(), answers_of(self.table[SAME]).tolist()
        return [None if answer == MISSING else text for text, answer in zip(spelt, answers, strict=True)]

    @property
    def next(self) -> int | None:
        """The first pair that has no answer and was not skipped; None if there is none."""
        answers = enumerate(self.answers)
        return next((number for number, answer in answers if answer is None and number not in self.skipped), None)

    def label(self, number: int, same: bool) -> None:
        """Keep an answer."""
        self._answer(number, str(int(same)))

    def skip(self, number: int) -> None:
        """Leave a pair without an answer."""
        self.skipped.add(number)

    def back(self, number: int) -> bool:
        """Forget the answer to the last pair before this one; False if there is none."""
        answers = self.answers
        before = [other for other in range(number) if answers[other] is not None or other in self.skipped]
        if not before:
            return False
        if (last := before[-1]) in self.skipped:
            self.skipped.remove(last)
        else:
            self._answer(last, None)
        return True

    def _answer(self, number: int, answer: str | None) -> None:
        values = self.answers
        values[number] = answer
        column = pa.array(values, pa.string())
        self.table = self.table.set_column(self.table.column_names.index(SAME), SAME, column)
        objects = None
        if self.objects is not None:
            row = {**json.loads(self.objects[number]), SAME: answer}
            self.objects[number] = json.dumps(row, ensure_ascii=False)
            objects = pa.array(self.objects, pa.string())
        with write_rows(self.file, format=self.format, delimiter=self.delimiter) as write:
            write(Block(self.table, np.arange(1, len(values) + 1), objects))

"""Characters of a text in its normal form, for families that compare two texts by what is written in them.

A row is the text itself: the code point of each character, in order. So nothing is learnt from the train texts. Further
columns of the corpus may follow the text, each after a separator.

Shape letters: N texts.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from twicetold.conventions import COLUMN_SEPARATOR
from twicetold.features.rows import CsrRows, Declared, Texts
from twicetold.normal_form import normal_form


@dataclass(eq=False)
class FoldedCharacters(Declared):
    """One sequence of code points per text.

    Args:
        columns: of the corpus that are read after the text, by name; a missing one is empty.
    """

    columns: Sequence[str] = ()
    ordered = True

    @property
    def fields(self) -> Sequence[str] | None:
        """The columns; None: texts alone."""
        return tuple(self.columns) or None

    def fit(self, texts: Texts, y: None = None) -> Self:
        """Learn nothing."""
        return self

    def transform(self, texts: Texts) -> CsrRows:
        """Return one row per text."""
        given = texts if isinstance(texts, Mapping) else {"text": texts}
        empty = [""] * len(given["text"])
        folded = [
            [value.replace(COLUMN_SEPARATOR, " ") for value in normal_form(given.get(name, empty))]
            for name in ("text", *self.columns)
        ]
        rows = list(map(COLUMN_SEPARATOR.join, zip(*folded, strict=True)))
        points = np.frombuffer("".join(rows).encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int32)
        ends = np.cumsum([0, *map(len, rows)])
        return CsrRows(ends.astype(np.int64), points, None, sys.maxunicode + 1)

    @property
    def shape(self) -> dict[str, int]:
        """`width`: number of code points; `columns`: the text and those after it."""
        return {"width": sys.maxunicode + 1, "columns": 1 + len(self.columns)}

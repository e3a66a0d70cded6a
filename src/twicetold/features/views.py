"""Several views of a text side by side. Each view has its fields, its featuriser and its range of columns.

Elkahky, Song and He, A Multi-View Deep Learning Approach for Cross Domain User Modeling in Recommendation Systems,
WWW 2015.

Shape letters: N texts, M views.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any, Self

from sklearn.base import clone

from twicetold.features.rows import CsrRows, Declared, Featuriser, Parameters, Texts, keep_state, with_state


@dataclass(eq=False)
class View(Parameters):
    """One view: which columns of the corpus it reads, and how.

    Args:
        name: for messages and saved state.
        fields: columns that it reads, joined by a space; `text` is the text itself.
        featuriser: of bags (not of sequences).
    """

    name: str
    fields: Sequence[str]
    featuriser: Featuriser

    def read(self, texts: Texts) -> list[str]:
        """Return (N,) text of the view; a missing field is empty."""
        columns = texts if isinstance(texts, Mapping) else {"text": texts}
        empty = [""] * len(columns["text"])
        return list(map(" ".join, zip(*(columns.get(field, empty) for field in self.fields), strict=True)))


@dataclass(eq=False)
class Views(Declared):
    """Columns of the first view, then of the second, and so on.

    Args:
        views: the views.

    Attributes:
        bounds_: view m has the columns `bounds_[m]` to `bounds_[m + 1]`.
        card_: the card of each view that has one.
        (others): fitted state of each view, `<view>__<attribute>`.
    """

    views: Sequence[View]

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns that the views read besides the text."""
        return tuple(sorted({field for view in self.views for field in view.fields} - {"text"}))

    def fit(self, texts: Texts, y: None = None) -> Self:
        """Fit every view.

        Raises:
            ValueError: if the fields of a view are empty in all texts, for example because the corpus lacks them.
        """
        widths: list[int] = []
        self.card_: dict[str, Any] = {}
        for view in self.views:
            column = view.read(texts)
            if not any(map(str.strip, column)):
                raise ValueError(
                    f"view {view.name!r} reads {list(view.fields)}, which are empty in all {len(column)} train texts: "
                    "choose views of fields that the corpus has, such as features=views_text"
                )
            fitted = clone(view.featuriser).fit(column)
            widths.append(fitted.shape["width"])
            if fitted.card_:
                self.card_[view.name] = fitted.card_
            keep_state(self, fitted, f"{view.name}__")
        self.bounds_ = [0, *accumulate(widths)]
        return self

    def transform(self, texts: Texts) -> CsrRows:
        """Return one row per text, the views side by side."""
        self.require_fitted()
        parts = (self._fitted(view).transform(view.read(texts)) for view in self.views)
        rows: CsrRows = reduce(CsrRows.beside, parts)
        return rows

    def _fitted(self, view: View) -> Featuriser:
        return with_state(self, view.featuriser, f"{view.name}__")

    @property
    def shape(self) -> Mapping[str, Any]:
        """`width`: number of columns; `bounds`: where each view's begin, and the end.

        Raises:
            ValueError: if they are not those of the views, as stored ones may be.
        """
        widths = (self._fitted(view).shape["width"] for view in self.views)
        if (bounds := [0, *accumulate(widths)]) != self.bounds_:
            raise ValueError(f"expected {bounds} as bounds_, where the views begin, got {self.bounds_!r:.80}")
        return {"width": self.bounds_[-1], "bounds": self.bounds_}

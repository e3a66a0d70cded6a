"""Texts that are cleaned before a featuriser reads them, as lecture notes on duplicate questions propose.

Steps, in this order; none is taken unless it is asked for:

    nfkc         other forms of a letter are that letter: full-width `Ａ１` is `A1`, half-width `ｶﾞ` is `ガ`, `ﬁ` is `fi`
                 (Unicode's normalisation form KC)
    lower_case   `Bank` and `bank` are one word
    user_names   `@name` goes, but not what follows the `@` of an address
    numbers      runs of digits go, with the points and commas between them: `3.5`, `10,000`
    symbols      everything goes that is neither letter nor digit nor blank
    stop_words   frequent words without much meaning go (of, the, what), in either case

Where something goes, words stay apart, and blanks that follow each other become one.

Shape letters: N texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from twicetold.features.rows import CsrRows, Declared, Featuriser, Texts, keep_state, with_state

INNER = "inner__"
"""Before the names of attributes of the featuriser that reads the cleaned texts."""
LETTER = r"\p{L}\p{M}\p{N}_"
USER_NAME = rf"(^|[^{LETTER}@.])@[{LETTER}]+"
NUMBER = r"\p{N}+(?:[.,]\p{N}+)*"
SYMBOL = r"[^\p{L}\p{M}\p{N}\s]+"
BLANKS = r"\s+"


@dataclass(eq=False)
class Cleaned(Declared):
    """A featuriser that reads cleaned texts.

    Args:
        featuriser: what reads them.
        nfkc: see above, as the others.
        lower_case: take `Bank` and `bank` for one word.
        user_names: leave them out.
        numbers: leave them out.
        symbols: leave them out.
        stop_words: `"english"` to leave out the words of scikit-learn's list, or None.

    Attributes:
        (others): fitted state of the featuriser, `inner__<attribute>`.
    """

    featuriser: Featuriser
    nfkc: bool = False
    lower_case: bool = False
    user_names: bool = False
    numbers: bool = False
    symbols: bool = False
    stop_words: str | None = None

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """Declared by the featuriser."""
        return self.featuriser.ordered

    @property
    def fields(self) -> Sequence[str] | None:
        """The columns that the featuriser reads besides the text; they are cleaned as well."""
        return self.featuriser.fields

    def fit(self, texts: Texts, y: None = None) -> Self:
        """Fit the featuriser on cleaned texts.

        Raises:
            ValueError: if the list of stop words is unknown.
        """
        self._fitted = clone(self.featuriser).fit(self._clean(texts))
        self.card_ = self._fitted.card_
        keep_state(self, self._fitted, INNER)
        return self

    def transform(self, texts: Texts) -> CsrRows:
        """Return one row per text."""
        self.require_fitted()
        return self._inner().transform(self._clean(texts))

    @property
    def shape(self) -> Mapping[str, Any]:
        """That of the featuriser."""
        return self._inner().shape

    @available_if(lambda self: hasattr(self.featuriser, "get_feature_names_out"))
    def get_feature_names_out(self) -> NDArray[Any]:
        """Return (width,) names of the featuriser's columns."""
        inner: Any = self._inner()
        names: NDArray[Any] = inner.get_feature_names_out()
        return names

    def _inner(self) -> Featuriser:
        """Return the fitted featuriser; of a loaded model, restored from the attributes `inner__<attribute>`."""
        fitted: Featuriser = vars(self).get("_fitted") or with_state(self, self.featuriser, INNER)
        self._fitted = fitted
        return fitted

    def _clean(self, texts: Texts) -> Texts:
        steps = {name: value for name, value in self.get_params(deep=False).items() if name != "featuriser"}
        if isinstance(texts, Mapping):
            return {name: clean(column, **steps) for name, column in texts.items()}
        return clean(texts, **steps)


def clean(
    texts: Sequence[str],
    *,
    nfkc: bool = False,
    lower_case: bool = False,
    user_names: bool = False,
    numbers: bool = False,
    symbols: bool = False,
    stop_words: str | None = None,
) -> list[str]:
    """Return (N,) cleaned texts; without a step, the texts as they are. Arguments: `Cleaned`.

    Raises:
        ValueError: if the list of stop words is unknown.
    """
    if stop_words not in (None, "english"):
        raise ValueError(f"stop_words is null or english, scikit-learn's list; got {stop_words!r}")
    if not (nfkc or lower_case or user_names or numbers or symbols or stop_words):
        return list(texts)
    if nfkc:  # pyarrow's utf8_normalize leaves `ガ` in two parts
        texts = list(map(partial(normalize, "NFKC"), texts))
    column = pa.array(texts, pa.large_string())
    if lower_case:
        column = pc.utf8_lower(column)
    for wanted, pattern, replacement in (
        (user_names, USER_NAME, r"\1"),
        (numbers, NUMBER, " "),
        (symbols, SYMBOL, " "),
    ):
        if wanted:
            column = pc.replace_substring_regex(column, pattern, replacement)
    if stop_words:
        column = _without_stop_words(column)
    cleaned: list[str] = pc.utf8_trim_whitespace(pc.replace_substring_regex(column, BLANKS, " ")).to_pylist()
    return cleaned


def _without_stop_words(column: pa.LargeStringArray) -> pa.LargeStringArray:
    """Remove them until none is left: of two neighbours, which share a blank, one pass removes the first."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # with it come rich and much more

    edge = rf"[^{LETTER}'’]"  # no stop word is within `don't`
    pattern = rf"(?i)(^|{edge})(?:{'|'.join(sorted(ENGLISH_STOP_WORDS))})($|{edge})"
    while True:
        shorter = pc.replace_substring_regex(column, pattern, r"\1\2")
        if shorter.equals(column):
            return column
        column = shorter

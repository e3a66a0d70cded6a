r"""Features of models that are fitted to a file: texts in their normal form, and the symbols in them.

Letter n-grams and words leave out everything that is neither letter nor digit, so `C++` and `C#` are one text to them.
Here each symbol of a text is a further term:

- signs of mathematics and money, emoji and other symbols of Unicode, and of punctuation `# % & * / @ \ § † ‡ ‰`; a run
  of one of them is a further term (`++`), and the two letters of a flag are one;
- a hyphen or minus, unless it joins two words or stands alone as a dash; a quote after a digit, for feet and inches;
- `!=`, and faces such as `:-)`;
- marks that no letter has taken up, with the letter before them: vowel signs of Devanagari, Thai and others;
- letters beyond the Basic Multilingual Plane, which words take for one and the same.

Other punctuation (`. , ; : ? !`, quotes, brackets, dashes) is no term. A text without symbols has the row that
`LetterTfIdf` gives its normal form. The order of symbols is not seen, as that of words is not.

Shape letters: N texts, S distinct symbols.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Self
from unicodedata import category

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.rows import CsrRows
from twicetold.features.static_tokens import StaticTokens
from twicetold.normal_form import normal_form

PLAIN = str.maketrans("\u2010\u2012\u2013\u2212\u2019\u201d\u2032\u2044", "----'\"'/")  # forms of one sign, after NFKC
SIGNS = "#%&*@/\\§†‡‰‱※"  # symbols that Unicode counts as punctuation
WORD = re.compile(r"[^\W_]")
MAYBE = re.compile(r"[^\w\s.,;?()](?:(?<!['\"])|(?<=\d.))")  # without it, a text of ASCII has no symbol
SYMBOL = re.compile(
    r"(?=[^\w\s.,;?()]|[\U00010000-\U0010FFFF])(?:"  # for speed alone: what the rest can begin with
    r"(?<!\S)[:;=]'?-?[()/|\\]+"  # a face
    r"|!="
    r"|(?<![^\s!-,./:-@\[-`{-~])-+(?=[^\s-])|(?<=\w)-+(?![\w-])"  # a minus
    r"|(?<=\d)['\"]+(?!\w)"  # feet and inches
    r"|[\U0001F1E6-\U0001F1FF]{2}"  # a flag
    r"|(?P<sign>[^\w\s.,;:?!()'`\"-]|[\U00010000-\U0010FFFF])(?P=sign)*)"
)


class FoldedTerms(LetterTfIdf):
    """`LetterTfIdf` of texts in their normal form, with a column for each symbol.

    Args:
        letters: n of the letter n-grams.
        words: 0 for letters alone, 1 for words as well, 2 for words and pairs of neighbours.
        max_features: how many columns words and pairs get together, most frequent first; None for all.

    Attributes:
        symbols_: (S,) the symbols, in the order of the last columns.
        idf_: (width,) float32, as of `LetterTfIdf`; 1 where no text has a word.
    """

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the columns, and their idf.

        Raises:
            ValueError: if the texts have neither word nor symbol, or a setting is wrong.
        """
        folded = normal_form(texts)
        self.symbols_ = sorted(set(chain.from_iterable(map(symbols, folded))))
        if self.symbols_ and not any(map(WORD.search, folded)):
            self.letter_grams_, self.words_, self.card_ = [], [], None
            self.pairs_, self.idf_ = np.empty(0, np.int64), np.ones(len(self.symbols_), np.float32)
            return self
        return super().fit(folded)

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one row of unit length per text; a text without a known column has an empty row."""
        return super().transform(normal_form(texts))

    @property
    def shape(self) -> Mapping[str, int]:
        """`width`: number of columns."""
        return {"width": super().shape["width"] + len(self.symbols_)}

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return (width,) n-grams, words, pairs of words and symbols in column order."""
        return np.concatenate([super().get_feature_names_out(), np.array(self.symbols_, object)])

    def _counts(self, texts: Sequence[str]) -> csr_array:
        """Return (N, width) float32 of texts in their normal form."""
        counts = super()._counts(texts)
        place = {symbol: number for number, symbol in enumerate(self.symbols_, counts.shape[1] - len(self.symbols_))}
        known = [[place[symbol] for symbol in symbols(text) if symbol in place] for text in texts]
        row = np.repeat(np.arange(len(known)), [len(columns) for columns in known])
        column = np.fromiter(chain.from_iterable(known), np.int64, len(row))
        return counts + csr_array((np.ones(len(row), np.float32), (row, column)), counts.shape)


class FoldedTokens(StaticTokens):
    """`StaticTokens` of texts in their normal form, for vectors that take `BANK` and `bank` for different words.

    Args and attributes are those of `StaticTokens`.
    """

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Read the folder; errors: `StaticTokens.fit`."""
        return super().fit(normal_form(texts))

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence of numbers per text, with weights if tokens have some."""
        return super().transform(normal_form(texts))


def symbols(text: str) -> list[str]:
    """Return the symbols of a text in its normal form, in order.

    Examples:
        >>> from twicetold.features.folded import symbols
        >>> symbols("-5 v at 3 % (c++), e-mail? yes - no!")
        ['-', '%', '+', '++']
    """
    if text.isascii() and not MAYBE.search(text):
        return []
    text = text.translate(PLAIN)
    matches = SYMBOL.finditer(text)
    return list(chain.from_iterable(_terms(text[max(m.start() - 1, 0) : m.end()], m[0], m["sign"]) for m in matches))


@lru_cache(maxsize=1 << 16)
def _terms(whole: str, run: str, sign: str | None) -> tuple[str, ...]:
    """Return the terms of what is found.

    Args:
        whole: it, with the character before it.
        run: it alone.
        sign: the character of a run; None of others.
    """
    if sign is None:
        return (run,)
    kind = category(sign)[0]
    if kind == "M":
        return () if whole[0].isspace() else (whole,)
    if kind == "P" and sign not in SIGNS:
        return ()
    return (sign,) if run == sign else (sign, run)

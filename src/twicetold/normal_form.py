"""The normal form of a text: Unicode's NFKC_Casefold, in which equal texts are equal strings.

Whatever is fitted to a file without training reads texts in this form, and exact copies are equal in it:

    case           `Straße` is `STRASSE`: full case folding, as `str.casefold`
    composition    a letter and its accents are one character, whether a file has them in one (NFC) or in parts (NFD)
    compatibility  full-width `Ａ１` is `A1`, `ﬁ` is `fi`, `²` is `2`
    invisible      soft hyphens, zero-width blanks and joiners, variation selectors and whatever else Unicode calls
                   default-ignorable are left out

Each character of the decomposed text is mapped by NFKC_Casefold, and the result is composed (The Unicode Standard,
definition D146; the mapping is made as DerivedNormalizationProps.txt says). The form of a form is itself.
"""

from collections.abc import Sequence
from unicodedata import normalize

IGNORABLE = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010)),
    *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0),
    *(*range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt."""
HAN_AND_KANA = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Ranges of a regular expression: scripts without blanks between words, each of whose signs is taken for a word."""


def normal_form(texts: Sequence[str]) -> list[str]:
    """Return (n,) texts in their normal form; one that holds nothing visible is empty.

    Examples:
        >>> from twicetold.normal_form import normal_form
        >>> normal_form(["Straße", "STRASSE", "co\N{SOFT HYPHEN}operate", "e\N{COMBINING ACUTE ACCENT}"])
        ['strasse', 'strasse', 'cooperate', 'é']
    """
    return [text.lower() if text.isascii() else _folded(text) for text in texts]


def _folded(text: str) -> str:
    return normalize("NFC", normalize("NFD", text).translate(_NFKC_CASEFOLD))


class _Mapping(dict[int, str]):
    """NFKC_Casefold of each character, worked out when it is met for the first time."""

    def __missing__(self, code: int) -> str:
        before, form = "", chr(code)
        while form != before:
            before, form = form, normalize("NFKC", form.casefold()).translate(_INVISIBLE)
        self[code] = form
        return form


_INVISIBLE = dict.fromkeys(IGNORABLE)
_NFKC_CASEFOLD = _Mapping()

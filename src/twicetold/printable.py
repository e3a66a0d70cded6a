"""Text that is safe on a terminal and in a log: from files and other people, and messages that name addresses.

Scripts and commands take `print` from here.
"""

import builtins
import json
import re
from difflib import SequenceMatcher
from typing import Any

from twicetold.normal_form import HAN_AND_KANA

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # of a terminal; a line may end and a tab may stand
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # of the direction of writing
    "\u2028\u2029"  # ends of lines
    "\ud800-\udfff]"  # halves of characters, as of file names that are no UTF-8
)
_USER = re.compile(r"""(\b[a-z][a-z0-9+.-]*://)[^\s'"<>]*@""", re.IGNORECASE)
_SECRET = re.compile(
    r"""((?:[?&;][\w.-]*(?:secret|token|signature|credential|key)[\w.-]*|\b\w*(?:password|passwd|pwd))=)[^\s'"<>&;]+""",
    re.IGNORECASE,
)
_WORD = re.compile(rf" ?(?:[{HAN_AND_KANA}]|[^\W{HAN_AND_KANA}]+|[^\w ]+)")
HIDDEN = "***"
LONG, AROUND, LEFT_OUT = 1_000, 160, " … "
"""Characters of a text that is shown as a whole, of equal ones around a difference, and a sign for others."""


def printable(text: object) -> str:
    """Put a sign in place of each character that could change the terminal, or the order of the text's letters."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text))


def print(*values: object, **options: Any) -> None:
    """Print text that is `printable`, as Python's `print` does."""
    builtins.print(*map(printable, values), **options)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words: `1 group`, `1,200 groups`.

    Args:
        count: of them.
        noun: one of them.
        plural: several of them; None: with an s.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def json_text(value: object, *, indent: int | None = 2) -> str:
    """Write JSON with its letters as they are, and escapes for what is not `printable`: no value changes."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def without_passwords(text: object) -> str:
    """Return the text without the users and passwords of the addresses in it: `http://***@host`, `?password=***`.

    A password may hold any character that is not escaped, so everything between `://` and the last `@` goes.
    """
    return _SECRET.sub(rf"\1{HIDDEN}", _USER.sub(rf"\1{HIDDEN}@", str(text)))


def differing(one: str, other: str, *, width: int = 60) -> tuple[str, str]:
    """Cut two texts to a line that shows the first place where they differ, case and white space aside.

    Args:
        one: a text.
        other: another.
        width: characters of each excerpt, besides the dots that stand for what is left out.
    """
    texts = [" ".join(text.split()) for text in (one, other)]
    letters = enumerate(zip(*(text.lower() for text in texts), strict=False))
    place = next((place for place, (left, right) in letters if left != right), min(map(len, texts)))
    start = 0 if place < width * 2 // 3 else max(0, min(place - width // 3, max(map(len, texts)) - width))
    shown = [f"{'…' * (start > 0)}{text[start : start + width]}{'…' * (len(text) > start + width)}" for text in texts]
    return shown[0], shown[1]


def word_changes(one: str, other: str) -> list[tuple[str, str, bool]]:
    """Split two texts into runs of words: what one has, what the other has in its place, and whether they are equal.

    Examples:
        >>> from twicetold.printable import word_changes
        >>> word_changes("a red tent for two", "A red tent, green")
        [('a red tent', 'A red tent', True), (' for two', ', green', False)]
    """
    left, right = _WORD.findall(one), _WORD.findall(other)
    words = [[word.strip().casefold() for word in side] for side in (left, right)]
    return [
        ("".join(left[start:end]), "".join(right[begin:stop]), kind == "equal")
        for kind, start, end, begin, stop in SequenceMatcher(a=words[0], b=words[1], autojunk=False).get_opcodes()
    ]


def changes_in_brief(one: str, other: str, *, long: int = LONG) -> list[tuple[str, str, bool]]:
    """Split two texts as `word_changes` does, made printable; of long ones, the places that differ and a little around.

    Of texts that differ over a long way the beginning and the end of that are shown, so the time that this takes is
    bounded.

    Args:
        one: a text.
        other: another.
        long: characters of the longest text that is shown as a whole.

    Examples:
        >>> from twicetold.printable import changes_in_brief
        >>> changes_in_brief("red " + "tent " * 999, "green " + "tent " * 999, long=10)[:1]
        [('red', 'green', False)]
    """
    if max(len(one), len(other)) <= long:
        return word_changes(printable(one), printable(other))
    start = _equal_start(one, other)
    end = min(_equal_start(one[::-1], other[::-1]), min(len(one), len(other)) - start)
    start, end, half = max(0, start - AROUND), max(0, end - AROUND), max(long // 2, AROUND)
    middles = [text[start : len(text) - end] for text in (one, other)]
    places = [[LEFT_OUT * (start > 0) + middle + LEFT_OUT * (end > 0)] for middle in middles]
    if max(map(len, middles)) > 2 * half:
        places = [
            [
                LEFT_OUT * (start > 0) + middle[:half] + LEFT_OUT,
                middle[max(half, len(middle) - half) :] + LEFT_OUT * (end > 0),
            ]
            for middle in middles
        ]
    changes = [change for place in zip(*places, strict=True) for change in word_changes(*map(printable, place))]
    return [(_in_brief(left), _in_brief(right), True) if same else (left, right, same) for left, right, same in changes]


def _equal_start(one: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # whole slices are compared, as a loop over ten million letters takes seconds
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _in_brief(words: str) -> str:
    return words if len(words) <= 2 * AROUND else f"{words[:AROUND]}{LEFT_OUT}{words[-AROUND:]}"

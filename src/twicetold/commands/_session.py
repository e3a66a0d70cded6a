"""A session at the terminal: pairs of texts one by one, what differs is marked, and a key for each answer."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from rich.panel import Panel
from rich.text import Text as Styled

from twicetold.commands._console import Console
from twicetold.printable import changes_in_brief

if TYPE_CHECKING:
    from twicetold.labels.labelling import Labelling
    from twicetold.labels.review import Asking

SAME, DIFFERENT, SKIP, BACK, STOP = "yn?us"
KEYS = "y the same, n different, ? cannot say, u undo, s stop"
WORDS = {each: each for each in (SKIP, BACK, STOP)}
WORDS |= {"skip": SKIP, "b": BACK, "back": BACK, "undo": BACK, "q": STOP, "quit": STOP, "stop": STOP}
"""Words for keys, beside those of `tables.columns.ANSWERS`."""
DIFFERS = "bold underline"


def ask_all(state: "Labelling | Asking") -> None:
    """Show pairs until all are answered or the person stops."""
    console = Console(stderr=True)
    answers = _answers(console)
    while (number := state.next) is not None:
        left, right = _marked(*state.sides(number), bracketed=console.color_system is None)
        body = Styled("\n").join([left, Styled("─" * 8, "dim"), right])
        console.print(Panel(body, title=f"{number + 1} of {state.count}", subtitle=KEYS))
        answer = next(answers, STOP)
        if answer == STOP:
            return
        if answer == BACK:
            if not state.back(number):
                console.print("this is the first pair")
        else:
            state.label(number, None if answer == SKIP else answer == SAME)


def _marked(left: str, right: str, *, bracketed: bool) -> tuple[Styled, Styled]:
    """Return both texts with the words that differ underlined, in brackets where the terminal cannot show that."""
    sides = Styled(), Styled()
    for *runs, same in changes_in_brief(left, right):
        for side, words in zip(sides, runs, strict=True):
            blank, bare = words[: len(words) - len(words.lstrip())], words.lstrip()
            mark = bare and not same
            side.append(blank).append(f"[{bare}]" if mark and bracketed else bare, DIFFERS if mark else None)
    return sides


def _answers(console: Console) -> Iterator[str]:
    """Yield letters of answers: keys that are pressed, or lines of standard input.

    Raises:
        ValueError: if a line is none of them.
    """
    from twicetold.tables.columns import ANSWERS

    words = {**{word: SAME if same else DIFFERENT for word, same in ANSWERS.items()}, **WORDS}
    if not sys.stdin.isatty():
        for number, line in enumerate(sys.stdin, start=1):
            if (word := line.strip().lower()) not in words:
                raise ValueError(
                    f"standard input, line {number}: expected y, n, ?, u or s; got {word!r:.40}. The answers before it "
                    "are kept"
                )
            yield words[word]
        return
    while True:
        try:
            key = typer.getchar().lower()
        except EOFError:
            return
        if key in words:
            yield words[key]
        else:
            console.print(KEYS)

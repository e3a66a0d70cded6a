"""Files that are made: persons, tickets with numbers, variants of products, releases, with their true groups.

They hold what public files have little of: names that are abbreviated or turned round, and texts that are the same but
for a number. The generators are seeded, so the same rows are made each time.
"""

import random
import tomllib
from pathlib import Path
from typing import TypeAlias

Rows: TypeAlias = tuple[list[str], list[str]]
"""Texts, and the group of each."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = tomllib.loads(Path(__file__).with_name("made.toml").read_text(encoding="utf-8"))
FIRST, LAST, CITIES, BRANDS, COLOURS, COMPONENTS = (
    WORDS[kind].split() for kind in ("first", "last", "cities", "brands", "colours", "components")
)
COPIES = (1, 1, 1, 2, 2, 3)  # texts of a group


def names(groups: int = 1_200, seed: int = 1) -> Rows:
    """Return persons with their place of work."""
    draw, rows = random.Random(seed), []
    for group in range(groups):
        first, last, middle = draw.choice(FIRST), draw.choice(LAST), draw.choice(LETTERS)
        place = f"{draw.choice(('university of', 'institute', 'college', 'hospital', 'bank of'))} {draw.choice(CITIES)}"
        rows += [(_name(draw, first, last, middle, place), str(group)) for _ in range(draw.choice(COPIES))]
    return [text for text, _ in rows], [group for _, group in rows]


def _name(draw: random.Random, first: str, last: str, middle: str, place: str) -> str:
    first = WORDS["short"].get(first, first) if draw.random() < 0.25 else first
    first = first[0] + "." if draw.random() < 0.15 else first
    last = misspelt(draw, last) if draw.random() < 0.15 else last
    between = draw.choice((f" {middle}. ", " ", " ", f" {middle} "))
    text = f"{first}{between}{last}" if draw.random() < 0.6 else f"{last}, {first}{between}".strip()
    text += f", {place}" if draw.random() < 0.8 else ""
    return text.title() if draw.random() < 0.7 else text


def tickets(groups: int = 1_200, seed: int = 2) -> Rows:
    """Return complaints about an order; another number is another order."""
    draw, rows = random.Random(seed), []
    marks = ("", "#", "no. ", "ORD-")
    for group in range(groups):
        issue, number = draw.choice(WORDS["issues"]), draw.randrange(10_000, 100_000)
        customer, city, thing = draw.choice(LAST), draw.choice(CITIES), draw.choice(("order", "parcel", "shipment"))
        for _ in range(draw.choice(COPIES)):
            said = draw.choice(issue) if draw.random() < 0.6 else issue[0]
            order = f"{thing} {draw.choice(marks)}{number}"
            forms: tuple[str, ...] = (f"{order} {said}", f"{said}: {order}", f"{order} ({city}) {said}")
            forms += (f"Customer {customer}: {order} {said}", f"{city}: {said}, {order}")
            rows.append((draw.choice(forms), str(group)))
    return [text for text, _ in rows], [group for _, group in rows]


def variants(articles: int = 350, seed: int = 3) -> Rows:
    """Return products in several sizes and colours, each of which is another product."""
    draw, rows, group = random.Random(seed), [], 0
    for _ in range(articles):
        brand, article = draw.choice(BRANDS), draw.choice(WORDS["articles"])
        unit, values = draw.choice(WORDS["measures"])
        code = draw.choice("ABCDKLTX") + draw.choice(("", "R", "S", "-")) + str(draw.randrange(100, 9_999))
        code = code if draw.random() < 0.6 else ""
        for value in draw.sample(values, draw.choice((1, 2, 3))):
            for colour in draw.sample(COLOURS, draw.choice((1, 1, 2))):
                group += 1
                some = range(draw.choice((1, 1, 2, 2, 3)))
                rows += [(_variant(draw, brand, article, code, f"{value} {unit}", colour), str(group)) for _ in some]
    return [text for text, _ in rows], [group for _, group in rows]


def _variant(draw: random.Random, brand: str, article: tuple[str, ...], code: str, measure: str, colour: str) -> str:
    parts = [brand if draw.random() < 0.9 else "", code if draw.random() < 0.85 else ""]
    parts[1] = parts[1].replace("-", "") if draw.random() < 0.4 else parts[1]
    parts += [draw.choice(article) if draw.random() < 0.5 else article[0]]
    parts += [draw.choice((measure, measure.upper(), measure.replace(" ", "")))]
    parts += [colour if draw.random() < 0.85 else ""]
    if draw.random() < 0.3:
        draw.shuffle(parts)
    if draw.random() < 0.3:
        parts.append(draw.choice(("new", "with warranty", "free shipping", "2-pack", "original")))
    return " ".join(filter(None, parts))


def releases(groups: int = 900, seed: int = 4) -> Rows:
    """Return notes on releases of programs; another version is another release."""
    draw, rows = random.Random(seed), []
    for group in range(groups):
        program = draw.choice(("Open", "Fast", "Lib", "Net", "Data")) + draw.choice(("Mail", "Graph", "Chart", "View"))
        version = f"{draw.randrange(1, 5)}.{draw.randrange(10)}"
        version += f".{draw.randrange(6)}" if draw.random() < 0.5 else ""
        verbs, part, year = draw.choice(WORDS["verbs"]), draw.choice(COMPONENTS), draw.choice((2019, 2020, 2021))
        for _ in range(draw.choice(COPIES)):
            forms: tuple[str, ...] = (
                f"{program} {version} {draw.choice(verbs)} {part}",
                f"Release {version} of {program} {verbs[0]} {part}",
            )
            forms += (f"{program} v{version} released: {draw.choice(verbs)} {part}",)
            forms += (
                f"{program} version {version} ({year}) {verbs[0]} the {part}",
                f"{program} {version}: {part} support",
            )
            rows.append((draw.choice(forms), str(group)))
    return [text for text, _ in rows], [group for _, group in rows]


def misspelt(draw: random.Random, word: str) -> str:
    """Return a word with a letter that is missing, swapped, another, or too many; short ones as they are."""
    if len(word) < 4:
        return word
    at = draw.randrange(1, len(word) - 1)
    letter = draw.choice(LETTERS)
    return draw.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + letter + word[at + 1 :],
            word[:at] + letter + word[at:],
        )
    )


def small_change(draw: random.Random, text: str) -> str:
    """A copy of a text with a spelling error or two, a word less or twice, or other punctuation; numbers are kept."""
    words = text.split()
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(words)) if words else 0
        change = draw.randrange(4)
        if not words or any(map(str.isdigit, words[at])):
            continue
        if change < 2:
            words[at] = misspelt(draw, words[at])
        elif change == 2 and len(words) > 5:
            del words[at]
        else:
            words[at] += draw.choice((",", ".", " -", "!"))
    return " ".join(words)

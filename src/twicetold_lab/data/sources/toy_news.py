"""Generated headlines: stories of four categories, each told by several publishers in their own words.

A story is an event (a takeover, an outbreak) with its slots filled once; a publisher tells it by one of the event's
rules, under the names, with the details and in the typography it likes. Names return from story to story and between
categories (a bank is taken over, and its customers' data stolen), so that shared words alone decide neither.

The columns are those of the UCI News Aggregator dataset (https://archive.ics.uci.edu/dataset/359).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import document_corpus
from twicetold_lab.data.sources.toy_grammar import Lexicon, Scheme, fill, read_words, tell
from twicetold_lab.data.splits import by_group

FRACTIONS = (0.6, 0.2, 0.2)  # of stories
_SMALL_WORDS = frozenset(re.findall(r"\w+", "a an and as at by for from in is its of on or over the to up with"))


class Publisher(NamedTuple):
    """A publisher and its typography."""

    name: str
    host: str
    title_case: bool
    frame: str
    """Rule around the headline."""


_WORDS = read_words(Path(__file__).with_name("toy_news.toml"))
_ENTRIES: Lexicon = _WORDS["lexicon"]
PUBLISHERS = tuple(Publisher(*publisher) for publisher in _WORDS["publishers"])
LEXICON: Lexicon = {
    **_ENTRIES,
    **{kind: tuple(entry for part in parts for entry in _ENTRIES[part]) for kind, parts in _WORDS["unions"].items()},
    "percent": tuple(f"{n}%|{n} percent|{n} pct" for n in range(3, 40)),
    "billions": tuple(f"${n / 10:.1f} billion|${n / 10:.1f}bn" for n in range(11, 99, 3)),
    "millions": tuple(f"${n} million|${n}m" for n in range(12, 480, 9)),
    "thousands": tuple(f"{n},000|{n},000|thousands of" for n in range(2, 60)),
    "people": tuple(f"{n} million|{n}m|millions of" for n in range(2, 90, 3)),
    "cases": tuple(f"{n}|{n}|dozens of" for n in range(14, 97, 3)),
}


def _with_aside(event: Scheme) -> Scheme:
    """Return the event with an aside of its category's desk (`investors worry`) for some tellings."""
    rules = tuple(rule + "[ as {aside}|, {aside}|: {aside}||]" for rule in event.rules)
    return replace(event, slots={**event.slots, "aside": event.category}, rules=rules)


EVENTS = tuple(map(_with_aside, _WORDS["schemes"]))


def read(raw: Path, *, name: str, seed: int = 0, limit: int | None = None, stories: int = 480) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many headlines, of every category and split; all when None.
        stories: how many stories to tell, with about 5 headlines each.

    Returns:
        Documents in order of publication, with the groups `category` and `story`, split 60/20/20 by story.

    Raises:
        ValueError: if there are fewer stories than splits, or `limit` is not positive.
    """
    headlines = sorted(_headlines(stories, np.random.default_rng(seed)))
    return story_corpus(
        [headline.telling for headline in headlines],
        name=name,
        seed=seed,
        limit=limit,
        publisher=[PUBLISHERS[headline.publisher].name for headline in headlines],
        hostname=[PUBLISHERS[headline.publisher].host for headline in headlines],
        url_slug=[_slug(headline.telling.text) for headline in headlines],
    )


class Telling(NamedTuple):
    """A text that tells a story."""

    story: int
    category: str
    text: str


def story_corpus(
    tellings: Sequence[Telling], *, name: str, seed: int, limit: int | None, **fields: Sequence[str]
) -> Corpus:
    """Return the corpus of generated documents with some further columns, split by story."""
    return document_corpus(
        name=name,
        ids=pa.array([str(1 + row) for row in range(len(tellings))]),
        texts=pa.array([one.text for one in tellings]),
        side=by_group(np.array([one.story for one in tellings], np.int64), splits=FRACTIONS, seed=seed),
        groups={
            "category": pa.array([one.category for one in tellings]),
            "story": pa.array([f"story {one.story:05}" for one in tellings]),
        },
        fields={field: pa.array(values) for field, values in fields.items()},
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "story", "rows": len(tellings), "complete_labels": True},
    )


class _Headline(NamedTuple):
    hour: float
    """Since the first story began; the order of publication."""
    telling: Telling
    publisher: int


def _headlines(stories: int, rng: np.random.Generator) -> list[_Headline]:
    printed: list[_Headline] = []
    seen: set[str] = set()
    for story in range(stories):
        event = EVENTS[rng.integers(len(EVENTS))]
        meaning = fill(event, LEXICON, rng)
        count = 2 + int(rng.poisson(3.0))
        for publisher in rng.permutation(len(PUBLISHERS))[:count].tolist():
            rule = event.rules[rng.integers(len(event.rules))]
            text = _print(tell(rule, meaning, rng), publisher, rng)
            hour = 1.5 * story + float(rng.exponential(24.0))
            if text.casefold() not in seen:  # a headline belongs to one story only, or it would sit in two splits
                seen.add(text.casefold())
                printed.append(_Headline(hour, Telling(story, event.category, text), publisher))
    return printed


def _print(text: str, publisher: int, rng: np.random.Generator) -> str:
    """Set a headline in a publisher's typography."""
    by = PUBLISHERS[publisher]
    if by.title_case:
        words = text.split(" ")
        text = " ".join(w if i and w in _SMALL_WORDS else w[:1].upper() + w[1:] for i, w in enumerate(words))
    return tell(by.frame, {"headline": text}, rng)


def _slug(text: str) -> str:
    words = [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SMALL_WORDS]
    return " ".join(words[:8])

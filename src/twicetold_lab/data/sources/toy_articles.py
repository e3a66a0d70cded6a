"""Generated articles of several sentences, for what headlines are too short for: the inverse cloze task, say.

The events and names are those of `toy_news`. An article tells its story by several of the event's rules, a sentence
each, in any order, and closes with sentences that any article could have: as in real texts, some sentences tell little
of what the rest is about. Names, numbers and choices of words are drawn for each sentence anew.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import document_corpus
from twicetold_lab.data.sources.toy_grammar import Meaning, Scheme, fill, read_words, tell
from twicetold_lab.data.sources.toy_news import EVENTS, FRACTIONS, LEXICON
from twicetold_lab.data.splits import by_group

CLOSINGS = tuple(read_words(Path(__file__).with_name("toy_articles.toml"))["closings"])


def read(raw: Path, *, name: str, seed: int = 0, limit: int | None = None, stories: int = 400) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many articles, of every category and split; all when None.
        stories: how many stories to tell, with about 4 articles each.

    Returns:
        Documents with the groups `category` and `story`, split 60/20/20 by story.

    Raises:
        ValueError: if there are fewer stories than splits, or `limit` is not positive.
    """
    articles = _articles(stories, np.random.default_rng(seed))
    return document_corpus(
        name=name,
        ids=pa.array([str(1 + row) for row in range(len(articles))]),
        texts=pa.array([article.text for article in articles]),
        side=by_group(np.array([article.story for article in articles]), splits=FRACTIONS, seed=seed),
        groups={
            "category": pa.array([article.category for article in articles]),
            "story": pa.array([f"story {article.story:05}" for article in articles]),
        },
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "story", "rows": len(articles), "complete_labels": True},
    )


class _Article(NamedTuple):
    story: int
    category: str
    text: str


def _articles(stories: int, rng: np.random.Generator) -> list[_Article]:
    written: list[_Article] = []
    seen: set[str] = set()
    for story in range(stories):
        event = EVENTS[rng.integers(len(EVENTS))]
        meaning = fill(event, LEXICON, rng)
        for _ in range(2 + int(rng.poisson(2.0))):
            text = _written(event, meaning, rng)
            if text.casefold() not in seen:  # an article belongs to one story only, or it would sit in two splits
                seen.add(text.casefold())
                written.append(_Article(story, event.category, text))
    return written


def _written(event: Scheme, meaning: Meaning, rng: np.random.Generator) -> str:
    """Two to four sentences about the event, and one or two that close the article."""
    about = rng.permutation(len(event.rules))[: rng.integers(2, 5)]
    closing = rng.permutation(len(CLOSINGS))[: rng.integers(1, 3)]
    rules = [event.rules[rule] for rule in about] + [CLOSINGS[rule] for rule in closing]
    return " ".join(_ended(tell(rule, meaning, rng)) for rule in rules)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!")) else f"{sentence}."

"""Generated articles of several sentences, for what headlines are too short for: the inverse cloze task, say.

The events and names are those of `toy_news`. An article tells its story by several of the event's rules, a sentence
each, in any order, and closes with sentences that any article could have: as in real texts, some sentences tell little
of what the rest is about. Names, numbers and choices of words are drawn for each sentence anew.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources.toy_grammar import Meaning, Scheme, fill, read_words, tell
from twicetold_lab.data.sources.toy_news import EVENTS, LEXICON, Telling, story_corpus

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
    return story_corpus(articles, name=name, seed=seed, limit=limit)


def _articles(stories: int, rng: np.random.Generator) -> list[Telling]:
    written: list[Telling] = []
    seen: set[str] = set()
    for story in range(stories):
        event = EVENTS[rng.integers(len(EVENTS))]
        meaning = fill(event, LEXICON, rng)
        for _ in range(2 + int(rng.poisson(2.0))):
            text = _written(event, meaning, rng)
            if text.casefold() not in seen:  # an article belongs to one story only, or it would sit in two splits
                seen.add(text.casefold())
                written.append(Telling(story, event.category, text))
    return written


def _written(event: Scheme, meaning: Meaning, rng: np.random.Generator) -> str:
    """Return two to four sentences about the event, and one or two that close the article."""
    about = rng.permutation(len(event.rules))[: rng.integers(2, 5)]
    closing = rng.permutation(len(CLOSINGS))[: rng.integers(1, 3)]
    rules = [event.rules[rule] for rule in about] + [CLOSINGS[rule] for rule in closing]
    return sentences(rules, meaning, rng)


def sentences(rules: Sequence[str], meaning: Meaning, rng: np.random.Generator) -> str:
    """Return a sentence by each rule."""
    told = [tell(rule, meaning, rng) for rule in rules]
    return " ".join(one if one.endswith(("?", "!")) else f"{one}." for one in told)

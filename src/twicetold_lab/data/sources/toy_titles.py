"""Generated articles as pairs of two kinds of text: titles, and the bodies below them.

In search a query and a document are texts of different kinds, and a model may read each by a tower of its own. Here a
title is the query. Events and names are those of `toy_news`. Every story is told once: by one of its event's rules in
the title, by others in the body, which closes like those of `toy_articles`. A title is labelled as saying the same as
its own body, and not the same as some bodies of other stories: of the same kind of event, which differ from its own in
names and numbers, and of any kind.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import first_of_each, pair_corpus
from twicetold_lab.data.sources.toy_articles import CLOSINGS, sentences
from twicetold_lab.data.sources.toy_grammar import Meaning, Scheme, fill, tell
from twicetold_lab.data.sources.toy_news import EVENTS, FRACTIONS, LEXICON
from twicetold_lab.data.splits import by_rows


def read(
    raw: Path,
    *,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    stories: int = 2000,
    alike: int = 2,
    others: int = 1,
) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many pairs, of either label and every split; all when None.
        stories: how many stories to tell, in a title and a body each.
        alike: bodies of the same kind of event that a title is paired with, where its split has as many.
        others: bodies of any kind that it is paired with.

    Returns:
        Labelled pairs, titles left and bodies right, split 60/20/20 by story, so that no text is on two sides.

    Raises:
        ValueError: if there are fewer stories than splits, or a number of bodies is below 0.
    """
    if alike < 0 or others < 0:
        raise ValueError(f"expected 0 or more bodies of other stories, got alike={alike} and others={others}")
    rng = np.random.default_rng(seed)
    articles = _articles(stories, rng)
    count = len(articles)
    side = by_rows(count, splits=FRACTIONS, seed=seed)
    event = np.array([article.event for article in articles], np.int64)
    within = side.astype(np.int64)
    number = np.arange(count)
    title, body = [number], [number]
    for group, steps in ((within * len(EVENTS) + event, alike), (within, others)):
        order = rng.permutation(count)
        for step in range(1, steps + 1):
            one, other = _followers(group, order, step)
            title.append(one)
            body.append(other)
    left, right = np.concatenate(title), np.concatenate(body)
    kept = first_of_each(left, count + right)
    left, right = left[kept], right[kept]
    texts = [article.title for article in articles] + [article.body for article in articles]
    return pair_corpus(
        name=name,
        ids=pa.array([f"{kind} {1 + row}" for kind in ("title", "body") for row in range(count)]),
        texts=pa.array(texts),
        left=left,
        right=count + right,
        label=(left == right).astype(np.float32),
        side=side[left],
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "disjoint", "rows": len(left)},
    )


class _Article(NamedTuple):
    event: int
    title: str
    body: str


def _articles(stories: int, rng: np.random.Generator) -> list[_Article]:
    written: list[_Article] = []
    seen: set[str] = set()
    for _ in range(stories):
        event = int(rng.integers(len(EVENTS)))
        title, body = _written(EVENTS[event], fill(EVENTS[event], LEXICON, rng), rng)
        if not seen & {title.casefold(), body.casefold()}:  # or a text could be in two splits
            seen |= {title.casefold(), body.casefold()}
            written.append(_Article(event, title, body))
    return written


def _written(event: Scheme, meaning: Meaning, rng: np.random.Generator) -> tuple[str, str]:
    """Return a title, and a body of one to three sentences by other rules and one or two that close it."""
    headline, *about = rng.permutation(len(event.rules))[: rng.integers(2, 5)].tolist()
    closing = rng.permutation(len(CLOSINGS))[: rng.integers(1, 3)].tolist()
    rules = [event.rules[rule] for rule in about] + [CLOSINGS[rule] for rule in closing]
    body = sentences(rules, meaning, rng)
    return tell(event.rules[headline], meaning, rng), body


def _followers(
    group: NDArray[np.int64], order: NDArray[np.int64], step: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each row of a group of more than `step`, and the row that is so many after it in the group, in a circle.

    Args:
        group: (R,) codes.
        order: (R,) a permutation of the rows.
        step: 1 or more.
    """
    rows = order[np.argsort(group[order], kind="stable")]
    _, starts, counts = np.unique(group[rows], return_index=True, return_counts=True)
    start, size = np.repeat(starts, counts), np.repeat(counts, counts)
    there = start + (np.arange(len(rows)) - start + step) % size
    enough = size > step
    return rows[enough], rows[there[enough]]

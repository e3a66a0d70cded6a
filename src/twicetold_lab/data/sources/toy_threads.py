"""Generated threads: a turn of a conversation, and the turns right before it.

Where there are conversations and no labels, a turn and its history are a positive pair for retrieval, and the history
of another session is a negative one. This corpus is generated: it shows that such pairs run through all stages, and
says nothing of real conversations. A thread of your own becomes a file of pairs (turn, turns before it, 1; turn, turns
of another session, 0) for `data=pairs`.

A thread is about one event of `toy_news`: each turn tells it by one of the event's rules, with the same names, after a
word or two that any turn could begin with. Some turns are small talk, which belongs to every thread.

Shape letters: R turns that have turns before them.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold_lab.data.clusters import cluster_card
from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.data.sources import numbered, pair_corpus
from twicetold_lab.data.sources.toy_grammar import Meaning, Scheme, fill, read_words, tell
from twicetold_lab.data.sources.toy_news import EVENTS, FRACTIONS, LEXICON
from twicetold_lab.data.splits import Side, by_group

_WORDS = read_words(Path(__file__).with_name("toy_threads.toml"))
OPENINGS, REPLIES, SMALL_TALK = (tuple(_WORDS[kind]) for kind in ("openings", "replies", "small_talk"))
TALK = 0.15  # share of the turns that are small talk
Numbers = NDArray[np.int64]


def read(
    raw: Path, *, name: str, seed: int = 0, limit: int | None = None, threads: int = 400, history: int = 3
) -> Corpus:
    """Generate the corpus.

    Args:
        raw: not used; nothing is downloaded.
        name: the corpus's name.
        seed: of the one generator that everything is drawn from.
        limit: keep about this many pairs, of both labels and every split; all when None.
        threads: how many threads to make, of four to eight turns each.
        history: turns before a turn that its history has, at most.

    Returns:
        Labelled pairs of a turn (left) and a history (right): its own, labelled 1, and that of another thread, labelled
        0. Split 60/20/20 by thread. The group `cluster` is the thread of each text of train, so that two histories of
        one session are no negatives of each other.

    Raises:
        ValueError: if a split has less than two threads, or `history` or `limit` is not positive.
    """
    if history < 1:
        raise ValueError(f"history is a number of turns before a turn, at least 1; got {history}")
    rng = np.random.default_rng(seed)
    turns = list(_turns(threads, history, rng))
    thread = np.array([one.thread for one in turns])
    side = by_group(thread, splits=FRACTIONS, seed=seed)
    other = _of_another_thread(thread, side, rng)
    texts, ends = numbered(pa.array([text for one in turns for text in (one.text, one.history)]))
    turn, before = ends.reshape(-1, 2).T
    corpus = pair_corpus(
        name=name,
        kind="labelled_pairs",
        ids=pa.array([f"t{1 + i}" for i in range(len(texts))]),
        texts=texts,
        left=np.concatenate([turn, turn]),
        right=np.concatenate([before, before[other]]),
        label=np.repeat(np.array([1, 0], np.float32), len(turns)),
        side=np.concatenate([side, side]),
        positive=1,
        seed=seed,
        limit=limit,
        card={"seed": seed, "split": "thread", "rows": 2 * len(turns), "threads": threads, "history": history},
    )
    of_text = {text: one.thread for one in turns for text in (one.text, one.history)}
    code = np.array([of_text[text] for text in corpus.texts.to_pylist()])
    cluster = np.where(corpus.groups["cluster"] != UNKNOWN, code, UNKNOWN)
    pairs = corpus.pairs["train"]
    apart = pairs.label == 0
    counts = cluster_card(cluster, left=pairs.left[apart], right=pairs.right[apart])
    return replace(corpus, groups={"cluster": cluster}, card={**corpus.card, "clusters": counts})


class _Turn(NamedTuple):
    thread: int
    text: str
    history: str


def _turns(threads: int, history: int, rng: np.random.Generator) -> Iterator[_Turn]:
    """Turns that have turns before them, each once. A text is of one thread only, or it would stand in two splits."""
    owner: dict[str, int] = {}
    for thread in range(threads):
        event = EVENTS[rng.integers(len(EVENTS))]
        meaning = fill(event, LEXICON, rng)
        utterances: list[str] = []
        for place in range(4 + int(rng.integers(5))):
            text = _utterance(event, meaning, place, rng)
            before, is_new = " ".join(utterances[-history:]), text not in utterances
            utterances.append(text)
            free = all(owner.setdefault(of.casefold(), thread) == thread for of in (text, before))
            if place and is_new and free and text != before:
                yield _Turn(thread, text, before)


def _utterance(event: Scheme, meaning: Meaning, place: int, rng: np.random.Generator) -> str:
    """A turn by its place in the thread."""
    if place and rng.random() < TALK:
        rule, beginning = SMALL_TALK[rng.integers(len(SMALL_TALK))], ""
    else:
        beginnings = REPLIES if place else OPENINGS
        rule, beginning = event.rules[rng.integers(len(event.rules))], beginnings[rng.integers(len(beginnings))]
    text = tell(beginning + rule, meaning, rng)
    return text if text.endswith("?") else f"{text}."


def _of_another_thread(thread: Numbers, side: Side, rng: np.random.Generator) -> Numbers:
    """(R,) for each turn, a random one of another thread on the same side."""
    other = np.empty(len(thread), np.int64)
    for place in np.unique(side):
        rows = np.flatnonzero(side == place)  # a thread's turns are neighbours
        start, size = (ranges[np.unique(thread[rows], return_inverse=True)[1]] for ranges in _ranges(thread[rows]))
        if (size == len(rows)).any():
            raise ValueError("a history of another thread needs two threads in every split: use more `threads`")
        drawn = rng.integers(len(rows) - size)
        other[rows] = rows[np.where(drawn < start, drawn, drawn + size)]
    return other


def _ranges(thread: Numbers) -> tuple[Numbers, Numbers]:
    """First place and number of turns of each thread, in ascending order of threads."""
    _, start, size = np.unique(thread, return_index=True, return_counts=True)
    return start, size

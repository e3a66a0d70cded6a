"""Lexical neighbours (`mining.neighbour`) with the label on their card, by which trainings by hand see what is current.

Nothing is chosen by the label; but a card without it counts as mined by another one (`data.freshness`), and the
training would mine the default strategies in the place of these.
"""

from dataclasses import replace

from twicetold.data.corpus import Corpus
from twicetold.mining import neighbour
from twicetold.mining.triplets import Triplets


def mine(corpus: Corpus, *, seed: int, label: str, score: neighbour.Score, max_df: int = 10_000) -> Triplets:
    """What `neighbour.mine` finds; arguments and errors are its own."""
    found = neighbour.mine(corpus, seed=seed, label=label, score=score, max_df=max_df)
    return replace(found, card={**found.card, "label": label})

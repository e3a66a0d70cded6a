"""A corpus of dated documents in another split, with as many texts on each side: at random, or by time."""

from dataclasses import replace
from typing import Literal

import numpy as np

from twicetold.data.audit import audit
from twicetold.data.corpus import SPLITS, Corpus
from twicetold.data.splits import by_order, by_rows

SHARES = (0.6, 0.2, 0.2)


def split_again(corpus: Corpus, how: Literal["random", "time"], *, seed: int) -> Corpus:
    """The corpus with 60, 20 and 20 % of its texts in train, validation and test, and the audit that follows.

    Args:
        corpus: of documents whose ids are numbers that grow with time.
        how: `random`, with the shares of categories on each side, or `time`, the earliest texts in train.
        seed: of the random split.

    Raises:
        ValueError: if it has no documents, or ids that are no numbers.
    """
    if corpus.kind != "documents":
        raise ValueError(f"expected documents, got {corpus.kind} ({corpus.name})")
    time = np.array(corpus.ids.to_pylist(), dtype=str).astype(np.int64)
    if how == "random":
        side = by_rows(len(corpus), splits=SHARES, seed=seed, strata=corpus.group("category"))
    else:
        test = round(SHARES[2] * len(corpus))
        side = by_order(time, train=len(corpus) - test, val=SHARES[1] / (SHARES[0] + SHARES[1]), test=test)
    members = {split: np.flatnonzero(side == place) for place, split in enumerate(SPLITS)}
    other = replace(corpus, members=members)
    counts = {split: {"texts": len(texts)} for split, texts in members.items()}
    card = {**corpus.card, "split": how, "splits": counts, "audit": audit(other, time=time)}
    return replace(other, card=card)

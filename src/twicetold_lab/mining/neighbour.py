"""Nearest neighbours by a lexical score, as positives that need no labels.

Karpukhin et al., Dense Passage Retrieval, EMNLP 2020, section 4.2, use the best passage of BM25 that contains the
answer as the positive of a question without a labelled passage. Here there is no answer to check, so some of these
positives are wrong; the card of a labelled corpus gives their number. It also names the label: a card without it counts
as mined by another one (`data.freshness`), and a training by hand would mine the default strategies in their place.

Scores come from products of sparse matrices, a batch of texts at a time (`mining.bm25`).

Shape letters: M distinct positions of train texts, V words, B texts of a batch.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.mining.bm25 import NOBODY, Weigh, bm25_weights, hardest
from twicetold_lab.mining.groups import Groups, confirmed, sorted_groups
from twicetold_lab.mining.triplets import Triplets

Score = Literal["bm25", "tfidf"]


def mine(corpus: Corpus, *, seed: int, label: str, score: Score, max_df: int = 10_000) -> Triplets:
    """Return pair each train text with the most similar other text, and with a random third text.

    Equal texts are one text: the neighbour of a text is never a copy of it.

    Args:
        corpus: any corpus.
        seed: of the third texts.
        label: the group by which the card says how many positives are right; nothing is chosen by it.
        score: `bm25`, or `tfidf`: the cosine of tf-idf rows.
        max_df: words in more texts than this are ignored.

    Raises:
        ValueError: for an unknown score, or if no two texts share a word.
    """
    if score not in get_args(Score):
        raise ValueError(f"score is one of {get_args(Score)}, got {score!r}")
    members = corpus.members["train"]
    code = corpus.text_codes()[members]
    groups = sorted_groups(members, code)
    texts: list[str] = corpus.texts.take(groups.texts).to_pylist()
    every_text = np.arange(len(groups))
    best = np.full(len(groups), NOBODY)
    for rows, ranked in hardest(texts, groups, every_text, last=1, max_df=max_df, weigh=WEIGHTS[score]):
        best[rows] = ranked[:, 0]
    third = _thirds(groups, best, np.random.default_rng(seed))
    kept = (best != NOBODY) & (third != NOBODY)
    if not kept.any():
        raise ValueError(
            f"no train text of {corpus.name!r} shares a word with another one and differs from a third: there is no "
            f"neighbour to take. Use more rows, or a larger max_df than {max_df}"
        )
    anchor, positive, negative = groups.texts[kept], groups.texts[best[kept]], groups.texts[third[kept]]
    order = np.argsort(anchor, kind="stable")
    anchor, positive, negative = anchor[order], positive[order], negative[order]
    return Triplets(
        anchor,
        positive,
        negative,
        card={
            "strategy": f"{score}_neighbour",
            "train": corpus.train_digest(),
            "seed": seed,
            "max_df": max_df,
            "texts": len(groups),
            "texts_without_neighbour": int((best == NOBODY).sum()),
            "triplets": len(anchor),
            "positives": confirmed(corpus, label, anchor, positive),
            "label": label,
        },
    )


def tfidf_weights(texts: list[str]) -> tuple[csr_array, csr_array]:
    """Return (M, V) tf-idf rows of unit length, and their transpose (V, M)."""
    try:
        rows = csr_array(TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit_transform(texts))
    except ValueError:  # scikit-learn's error for an empty vocabulary
        rows = csr_array((len(texts), 0), dtype=np.float32)
    return rows, rows.T.tocsr()


WEIGHTS: Mapping[Score, Weigh] = {"bm25": bm25_weights, "tfidf": tfidf_weights}


def _thirds(groups: Groups, best: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """(M,) a random position whose text is neither the text itself nor its neighbour; `NOBODY` where none was drawn."""
    third = np.full(len(groups), NOBODY)
    if groups.size[0] == len(groups):  # one text and its copies
        return third
    for _ in range(2):  # a second draw is rarely needed, except in a corpus of a few texts
        drawn = groups.draw_others(np.arange(len(groups)), rng)
        free = (third == NOBODY) & (groups.code[drawn] != groups.code[best])
        third[free] = drawn[free]
    return third

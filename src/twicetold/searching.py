"""What is measured of a family's vectors beyond its scores: search in the whole corpus, and the pairwise k-NN rule.

Which texts answer which is taken from what a corpus knows:

- **Documents** answer each other when they are of one story, that is of one group that is no class; the texts of the
  split that have another of their story anywhere in the corpus are the queries.
- **Pairs**: the queries are the texts of the split's own duplicates. Relevant are the texts that follow from those
  duplicates alone, by transitive closure. What follows from the duplicates of all splits, or is the same text word for
  word, and is not relevant itself, is struck from the list: a duplicate that training was shown should neither count as
  found nor stand as a wrong answer in front of a right one.

Shape letters: N texts of the corpus, M texts that are searched, P pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.data.clusters import components
from twicetold.data.corpus import UNKNOWN, Corpus
from twicetold.evaluation.corpus_search import Asked, Found
from twicetold.evaluation.evaluators import Standard
from twicetold.evaluation.inputs import group_sizes
from twicetold.evaluation.pairwise_knn import KnnReport, PooledPairs
from twicetold.scoring import ReadTexts


@dataclass(frozen=True)
class Searched:
    """Results of search in the corpus and of the pairwise k-NN rule; None where the corpus has no such question."""

    found: Found
    knn: KnnReport | None


def search_reports(read: ReadTexts, corpus: Corpus, evaluator: Standard) -> Searched | None:
    """Measure the search vectors of a model; None if it scores pairs only.

    Args:
        read: all texts of the corpus, as a model has read them.
        corpus: the data.
        evaluator: which settings are measured with.
    """
    if not read.searchable:
        return None
    texts = texts_to_search(corpus, evaluator)
    queries, documents = read.search_matrices(texts)
    asked = {split: asked_of(corpus, split, texts, classes=evaluator.classes) for split in ("val", "test")}
    found = evaluator.corpus_search.report(queries, documents, **asked)
    if corpus.kind == "documents":
        return Searched(found, None)
    pooled = {}
    for split in ("val", "test"):
        members, pairs = corpus.members[split], corpus.pairs[split]
        pool = np.searchsorted(texts, members)
        left, right = (np.searchsorted(members, side) for side in (pairs.left, pairs.right))
        asking = queries[pool]
        answering = asking if documents is queries else documents[pool]
        pooled[split] = PooledPairs(asking, answering, left, right, pairs.label >= corpus.positive_label)
    return Searched(found, evaluator.pairwise_knn.report(**pooled))


def texts_to_search(corpus: Corpus, evaluator: Standard) -> NDArray[np.int64]:
    """(M,) the texts that `search_reports` searches, ascending, all of validation and test among them."""
    return searched_texts(corpus, evaluator.corpus_search.max_texts, seed=evaluator.corpus_search.seed)


def searched_texts(corpus: Corpus, most: int, *, seed: int) -> NDArray[np.int64]:
    """(M,) the corpus's texts, sorted: all of them, or those of validation and test and a sample of the others."""
    if len(corpus) <= most:
        return np.arange(len(corpus))
    needed = np.union1d(corpus.members["val"], corpus.members["test"])
    others = np.setdiff1d(np.arange(len(corpus)), needed)
    count = max(0, min(most - len(needed), len(others)))
    return np.sort(np.concatenate([needed, np.random.default_rng(seed).choice(others, count, replace=False)]))


def asked_of(corpus: Corpus, split: str, texts: NDArray[np.int64], *, classes: Sequence[str]) -> Asked:
    """What a split asks of the searched texts.

    Args:
        corpus: the data.
        split: whose texts ask.
        texts: (M,) the searched texts, sorted, with all of the split among them.
        classes: groups that are classes to predict, so no answer to a query.
    """
    if corpus.kind == "documents":
        relevant = known = _stories(corpus, classes)[texts]
        candidates = corpus.members[split]
    else:
        own = _duplicates(corpus, split)
        relevant = components(len(corpus), *own)[texts]
        equal = corpus.text_codes()
        first = np.unique(equal, return_index=True)[1][equal]
        every = [_duplicates(corpus, each) for each in corpus.pairs] + [(np.arange(len(corpus)), first)]
        known = components(len(corpus), *(np.concatenate(side) for side in zip(*every, strict=True)))[texts]
        candidates = np.unique(np.concatenate(own))
    queries = np.searchsorted(texts, candidates)
    return Asked(queries[group_sizes(relevant)[queries] > 1], relevant, known)


def _stories(corpus: Corpus, classes: Sequence[str]) -> NDArray[np.int64]:
    """(N,) the finest group that is no class; a text that is in none is a story of its own."""
    clusters = [codes for name, codes in corpus.groups.items() if name not in classes]
    finest = max(clusters, key=lambda codes: len(np.unique(codes)), default=np.full(len(corpus), UNKNOWN))
    return np.where(finest == UNKNOWN, finest.max() + 1 + np.arange(len(corpus)), finest)


def _duplicates(corpus: Corpus, split: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two sides of a split's duplicate pairs."""
    pairs = corpus.pairs[split]
    same = pairs.label >= corpus.positive_label
    return pairs.left[same], pairs.right[same]

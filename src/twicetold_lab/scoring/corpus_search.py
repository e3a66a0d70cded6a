"""Evaluation of a family's search vectors: search in the corpus, and a dedupe.

Queries and relevant texts:

- **Documents**: the texts of one story, that is of one group that is not a class, are relevant to each other. The
  queries are the texts of the split whose story has another text in the corpus.
- **Pairs**: the queries are the texts of the split's own duplicates. Relevant are their duplicates by the transitive
  closure of the split's duplicates. Other texts that are duplicates by the closure over all splits, or equal word for
  word, are removed from the list of results: a duplicate that training has seen counts neither as right nor as wrong.

Shape letters: N texts of the corpus, M texts that are searched, P pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.inputs import finest_clusters, group_sizes
from twicetold.evaluation.thresholds import DedupeThresholds
from twicetold.neighbours.components import components
from twicetold.trained.reading import ReadTexts
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.dedupe_report import DedupeReport
from twicetold_lab.evaluation.evaluators import Standard
from twicetold_lab.evaluation.retrieval import Asked, SearchReport
from twicetold_lab.scoring.duplicates import dedupe_inputs


@dataclass(frozen=True)
class Searched:
    """Results of search in the corpus, and of a dedupe, if there is one."""

    search: SearchReport
    deduped: DedupeReport | None


def search_reports(
    read: ReadTexts, corpus: Corpus, evaluator: Standard, thresholds: DedupeThresholds | None
) -> Searched | None:
    """Evaluate the search vectors of a model; None if it scores pairs only.

    Args:
        read: all texts of the corpus, as a model has read them.
        corpus: the data.
        evaluator: its settings are used.
        thresholds: for a dedupe, as chosen on validation.
    """
    if not read.searchable:
        return None
    texts = texts_to_search(corpus, evaluator)
    queries, documents = read.search_matrices(texts)
    asked = {split: asked_of(corpus, split, texts, classes=evaluator.classes) for split in ("val", "test")}
    results = evaluator.corpus_search.report(queries, documents, **asked)
    deduped = _deduped(read, corpus, evaluator, thresholds) if thresholds else None
    return Searched(results, deduped)


def _deduped(read: ReadTexts, corpus: Corpus, evaluator: Standard, thresholds: DedupeThresholds) -> DedupeReport | None:
    val, test = (dedupe_inputs(read, corpus, split, classes=evaluator.classes) for split in ("val", "test"))
    if val is None or test is None:
        return None
    ranked = corpus.kind != "documents"  # whose own report has these values
    return evaluator.dedupe(val[1], test[1], thresholds, ranked=ranked)


def texts_to_search(corpus: Corpus, evaluator: Standard) -> NDArray[np.int64]:
    """Return (M,) the texts that `search_reports` searches, ascending.

    All texts of the corpus; of a corpus with more than `max_texts`, those of the splits that are measured and a sample
    of the others.
    """
    settings = evaluator.corpus_search
    if len(corpus) <= settings.max_texts:
        return np.arange(len(corpus))
    needed = np.unique(np.concatenate([corpus.members[split] for split in evaluator.splits]))
    others = np.setdiff1d(np.arange(len(corpus)), needed)
    count = max(0, min(settings.max_texts - len(needed), len(others)))
    return np.sort(np.concatenate([needed, np.random.default_rng(settings.seed).choice(others, count, replace=False)]))


def asked_of(corpus: Corpus, split: str, texts: NDArray[np.int64], *, classes: Sequence[str]) -> Asked:
    """Return the queries of a split and their relevant texts.

    Args:
        corpus: the data.
        split: the split of the queries.
        texts: (M,) the searched texts, sorted, with all of the split among them.
        classes: groups that are classes to predict, not clusters to retrieve.
    """
    if corpus.kind == "documents":
        relevant = known = finest_clusters(corpus.groups, classes)[texts]
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


def _duplicates(corpus: Corpus, split: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two sides of a split's duplicate pairs."""
    pairs = corpus.pairs[split]
    same = pairs.label >= corpus.positive_label
    return pairs.left[same], pairs.right[same]

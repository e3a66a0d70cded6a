"""The texts of a split that are duplicates, and the primary metric of a model that reads them.

Shape letters: M texts of a split.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors, ScoredPairs, finest_group
from twicetold.neighbours.components import components
from twicetold.trained.reading import ReadTexts, sampled
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.selection import Selection


def duplicate_groups(corpus: Corpus, split: str, *, classes: Sequence[str]) -> tuple[str, NDArray[np.int64]] | None:
    """Return the groups of a split's duplicates.

    Groups of documents are those of the finest group that is no class. Groups of labelled pairs, `cluster`, are the
    transitive closure of the split's duplicates, with texts that are equal word for word.

    Args:
        corpus: the data.
        split: val or test.
        classes: groups that are classes to predict.

    Returns:
        The name of the group, and the (M,) code of each text of the split; None if there is no such group, or if no two
        texts or all of them are of one group.
    """
    members = corpus.members[split]
    if corpus.kind == "documents":
        name = finest_group({name: codes[members] for name, codes in corpus.groups.items()}, classes)
        codes = None if name is None else corpus.groups[name][members]
    elif corpus.kind == "labelled_pairs":
        name, pairs, equal = "cluster", corpus.pairs[split], corpus.text_codes()[members]
        same = pairs.label >= corpus.positive_label
        left, right = (np.searchsorted(members, side[same]) for side in (pairs.left, pairs.right))
        first = np.unique(equal, return_index=True)[1][np.unique(equal, return_inverse=True)[1]]
        one, other = np.concatenate([left, np.arange(len(members))]), np.concatenate([right, first])
        codes = components(len(members), one, other)
    else:
        return None
    if codes is None or name is None:
        return None
    known = codes[codes != UNKNOWN]
    return (name, codes) if 1 < len(np.unique(known)) < len(known) else None


def dedupe_inputs(
    texts: ReadTexts, corpus: Corpus, split: str, *, classes: Sequence[str]
) -> tuple[str, DocumentVectors] | None:
    """Return the vectors of a split's texts, with the groups of duplicates, for `evaluation.dedupe_thresholds`.

    Args:
        texts: the texts of the corpus, read by a model.
        corpus: the data.
        split: val or test.
        classes: groups that are classes to predict.

    Returns:
        The name of the group, and the vectors with it alone; None if there are no vectors or no `duplicate_groups`.
    """
    found = duplicate_groups(corpus, split, classes=classes)
    if found is None or not texts.searchable:
        return None
    name, codes = found
    return name, DocumentVectors(*texts.search_matrices(corpus.members[split]), {name: codes})


def primary_value(
    texts: ReadTexts,
    corpus: Corpus,
    selection: Selection,
    *,
    inputs: ScoredPairs | DocumentVectors | None = None,
    at_most: int | None = None,
) -> tuple[str, float]:
    """Name and value of the primary metric on validation.

    Args:
        texts: the texts of the corpus, read by a model.
        corpus: the data.
        selection: says the metric.
        inputs: `evaluation_inputs` of validation, where they are there already.
        at_most: of more texts than this that are compared each with each, take a random sample of this size, always the
            same; None: take all.

    Raises:
        TypeError: if the metric is over all pairs of texts, and the model has no vectors of single texts.
        ValueError: if the metric is undefined on validation.
    """
    if corpus.kind == "documents" or not selection.over_all_pairs(corpus.kind):
        inputs = evaluation_inputs(texts, corpus, "val", at_most=at_most) if inputs is None else inputs
        return selection.primary_value(corpus.kind, inputs)
    metric = f"evaluator.primary.{corpus.kind}={selection.primary[corpus.kind]}"
    if not texts.searchable:
        raise TypeError(
            f"{metric} is over all pairs of texts, and this model scores pairs only, it has no vector per text: set "
            f"evaluator.primary.{corpus.kind}=auroc, or choose a family with search vectors"
        )
    found = duplicate_groups(corpus, "val", classes=selection.classes)
    if found is None:
        raise ValueError(
            f"{metric} needs validation texts of which some are duplicates and some are not: set "
            f"evaluator.primary.{corpus.kind}=auroc"
        )
    name, codes = found
    rows = sampled(np.arange(len(codes)), at_most)
    vectors = texts.search_matrices(corpus.members["val"][rows])
    return selection.primary_value(corpus.kind, DocumentVectors(*vectors, {name: codes[rows]}))


def evaluation_inputs(
    texts: ReadTexts, corpus: Corpus, split: str, *, at_most: int | None = None
) -> ScoredPairs | DocumentVectors:
    """Return the inputs of selection and evaluation for one split: scored pairs, or the vectors of all documents.

    Args:
        texts: the texts of the corpus, read by a model.
        corpus: the data.
        split: val or test.
        at_most: of more documents than this, take a random sample of this size, always the same; None: take all.
    """
    if corpus.kind == "documents":
        members = sampled(corpus.members[split], at_most)
        left, right = texts.search_matrices(members)
        return DocumentVectors(left, right, {name: codes[members] for name, codes in corpus.groups.items()})
    pairs = corpus.pairs[split]
    return ScoredPairs(texts.score(pairs.left, pairs.right), pairs.label)

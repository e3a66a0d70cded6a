"""Which texts of a split are duplicates, and what is chosen about them on validation.

Shape letters: M texts of a split.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twicetold.data.corpus import Corpus
from twicetold.evaluation.dedupe import Chosen, choose
from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors, ScoredPairs, finest_group
from twicetold.evaluation.labels import Decisions
from twicetold.evaluation.selection import Selection
from twicetold.neighbours.grouping import components
from twicetold.trained.scoring import ReadTexts


def duplicate_groups(corpus: Corpus, split: str, *, classes: Sequence[str]) -> tuple[str, NDArray[np.int64]] | None:
    """The groups of a split's texts that say the same.

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
    """The vectors of a split's texts, with the groups of those that say the same, for `evaluation.dedupe`.

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


def choose_for_dedupe(texts: ReadTexts, corpus: Corpus, selection: Selection) -> Chosen | None:
    """The thresholds for a dedupe, chosen on all pairs of validation texts; None where `dedupe_inputs` has none."""
    found = dedupe_inputs(texts, corpus, "val", classes=selection.classes)
    if found is None:
        return None
    group, vectors = found
    return choose(vectors, group, complete=corpus.kind == "documents", bins=selection.bins)


def choose_decisions(
    texts: ReadTexts, inputs: ScoredPairs | DocumentVectors, corpus: Corpus, selection: Selection
) -> tuple[Decisions, Chosen | None]:
    """The decisions by label, and the thresholds for a dedupe, chosen on validation.

    Where both are about one label, such as story beside the primary category, they have one calibration.

    Args:
        texts: the texts of the corpus, read by a model.
        inputs: `evaluation_inputs` of validation.
        corpus: the data.
        selection: primary metric, bins and classes.
    """
    decisions = selection.decisions(corpus.kind, inputs, positive_grade=corpus.card.get("positive_grade"))
    thresholds = choose_for_dedupe(texts, corpus, selection)
    if thresholds is not None and thresholds.group in decisions.labels.keys() - {decisions.primary}:
        about = replace(decisions.labels[thresholds.group], decision=thresholds.decision)
        decisions = replace(decisions, labels={**decisions.labels, thresholds.group: about})
    return decisions, thresholds

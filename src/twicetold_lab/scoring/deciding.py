"""Decisions about a model on validation: one for each label, and thresholds for a dedupe.

A training writes weights and stops there; `evaluate` decides, and writes the model that people use.
"""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.evaluation import decision
from twicetold.evaluation.all_pairs import named_counts, pair_histograms
from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs, finest_group
from twicetold.evaluation.labels import DUPLICATE, Decisions
from twicetold.evaluation.thresholds import DedupeThresholds, choose
from twicetold.files import write_folder
from twicetold.neighbours.grouping import Ints
from twicetold.trained.fitted import static_vectors
from twicetold.trained.model_folder import load_trained
from twicetold.trained.reading import EncodedTexts, ReadTexts, RowsOf
from twicetold.trained.threshold_record import write_decisions
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.selection import Selection, misfit
from twicetold_lab.scoring.duplicates import dedupe_inputs, duplicate_groups, evaluation_inputs

FEWEST = 20  # candidates among validation texts that are duplicates, and that are not, by which a matcher is moved


def decide(trained: Path, model: Path, texts: ReadTexts, corpus: Corpus, selection: Selection) -> None:
    """Write the folder of a model: what a training wrote, with the decisions that are made on validation.

    Args:
        trained: folder that the training wrote.
        model: the new folder.
        texts: the texts of the corpus, read by the trained model.
        corpus: the data.
        selection: primary metric, bins and classes.
    """
    inputs = evaluation_inputs(texts, corpus, "val")
    decisions, thresholds = choose_decisions(texts, inputs, corpus, selection)
    matched = matched_on_validation(texts, corpus, about=decisions.finest)
    with write_folder(model) as folder:
        shutil.copytree(trained, folder, dirs_exist_ok=True)
        write_decisions(folder, decisions, thresholds, matched)


@dataclass(frozen=True)
class Reordered:
    """Texts of a corpus by their position in an order.

    Args:
        texts: of the corpus.
        row: (n,) of each.
    """

    texts: ReadTexts
    row: Ints

    def score(self, left: Ints, right: Ints) -> NDArray[np.float32]:
        """Return (P,) of pairs."""
        return self.texts.score(self.row[left], self.row[right])


def matched_on_validation(texts: ReadTexts, corpus: Corpus, *, about: str) -> dict[str, Any] | None:
    """Return the matcher of pairs that the candidates among validation texts have moved, as a record of labels.

    The model's score is a feature, which counts for nothing before these labels.

    Args:
        texts: the texts of the corpus, read by a model.
        corpus: the data.
        about: the label of the pairs.

    Returns:
        None of documents, which are grouped by their vectors, and where validation has too few candidates of a kind.
    """
    from twicetold.labels.matched_links import MatchedCandidates, matched_links  # with faiss
    from twicetold.matching.comparison import Comparison

    groups = duplicate_groups(corpus, "val", classes=()) if corpus.kind == "labelled_pairs" else None
    if groups is None:
        return None
    members, shown = corpus.members["val"], corpus.texts_of("val")
    distinct = DistinctTexts.of(shown)
    read = texts.keeping(members)
    comparison = Comparison.of(
        distinct.texts,
        encode=lambda ordered, _: static_vectors(ordered),
        read=lambda _, order: Reordered(read, members[distinct.rows[order]]),
    )
    group, (left, right) = groups[1][distinct.rows], comparison.ends
    same, count = group[left] == group[right], len(left)
    if min(positives := int(same.sum()), count - positives) < FEWEST:
        return None
    rows, name = np.arange(count), f"validation of {corpus.name}"
    links = matched_links(
        MatchedCandidates(comparison.columns, np.ones(count), rows),
        rows,
        same,
        np.ones(count),
        file=name,
        texts=len(distinct),
        matcher=comparison.matcher.beside(comparison.columns),
    )
    usual = {column: [float(each.mean()), float(each.std())] for column, each in comparison.columns.items()}
    pairs = {"file": name, "count": count, "duplicates": positives}
    return {"pairs": pairs, "about": about, "matched": {**links.to_json(), "usual": usual}}


def read_trained(folder: Path, rows_of: RowsOf) -> EncodedTexts:
    """Return the texts of a corpus, read by what a training wrote.

    Args:
        folder: that the training wrote.
        rows_of: gives the feature rows of the corpus.
    """
    featuriser, encoder, as_documents = load_trained(folder)
    return EncodedTexts(encoder, rows_of(featuriser, ""), as_documents)


def choose_decisions(
    texts: ReadTexts, inputs: ScoredPairs | DocumentVectors, corpus: Corpus, selection: Selection
) -> tuple[Decisions, DedupeThresholds | None]:
    """The decisions by label, and the thresholds for a dedupe, chosen on validation; None without `dedupe_inputs`.

    Where both are about one label, such as story beside the primary category, they have one calibration.

    Args:
        texts: the texts of the corpus, read by a model.
        inputs: `evaluation_inputs` of validation.
        corpus: the data.
        selection: primary metric, bins and classes.
    """
    decisions = decisions_of(selection, corpus.kind, inputs, positive_grade=corpus.card.get("positive_grade"))
    found, thresholds = dedupe_inputs(texts, corpus, "val", classes=selection.classes), None
    if found is not None:
        thresholds = choose(found[1], found[0], complete=corpus.complete, bins=selection.bins)
    if thresholds is not None and thresholds.group in decisions.labels.keys() - {decisions.primary}:
        about = replace(decisions.labels[thresholds.group], decision=thresholds.decision)
        decisions = replace(decisions, labels={**decisions.labels, thresholds.group: about})
    return decisions, thresholds


def decisions_of(
    selection: Selection, kind: str, val: DocumentVectors | ScoredPairs, *, positive_grade: float | None = None
) -> Decisions:
    """Return the threshold with the highest accuracy (documents: F1 of each group), and Platt's calibration.

    Args:
        selection: primary metric, bins and classes.
        kind: of data.
        val: the validation split.
        positive_grade: graded pairs of at least this grade are duplicates.

    Raises:
        ValueError: if only one class occurs (documents: of the primary group), or `kind` is unknown or does not fit
            `val`.
    """
    match kind, val:
        case "documents", DocumentVectors():
            primary, histograms = selection.primary_group(val), pair_histograms(val, bins=selection.bins)
            known = {name: each for name, each in histograms.items() if name == primary or each.has_both}
            counts = {**dict.fromkeys(histograms), **named_counts(known)}
            finest = finest_group(val.groups, selection.classes) or primary
            return Decisions.of_documents(counts, primary=primary, finest=finest)
        case "labelled_pairs", ScoredPairs():
            return Decisions.about(DUPLICATE, decision.decide(val.score, val.label))
        case "graded_pairs", ScoredPairs() if positive_grade is not None:
            return Decisions.about(DUPLICATE, decision.decide(val.score, val.label >= positive_grade))
    raise ValueError(misfit(kind, val))

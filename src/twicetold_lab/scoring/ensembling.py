"""The weights, decisions and thresholds of an ensemble, chosen on validation.

Stacking by logistic regression fits the weights on validation, and everything that is chosen on validation afterwards
is chosen on cross-fitted scores (`stacking`).
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np

from twicetold import layout
from twicetold.evaluation.inputs import UNKNOWN, finest_group
from twicetold.evaluation.thresholds import DedupeThresholds
from twicetold.neighbours.components import components
from twicetold.trained.ensemble import Ensemble, ReadByMembers, Stacking, Weights, check_members, read_corpus_by
from twicetold.trained.model_folder import load_model, trained_on
from twicetold.trained.reading import RowsOf
from twicetold.trained.scoring import TrainedModel
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.scoring.deciding import choose_decisions
from twicetold_lab.scoring.duplicates import evaluation_inputs, primary_value
from twicetold_lab.scoring.stacking import cross_fit, deal, fit_weights, pairs_of_documents


def make_ensemble(
    members: Mapping[str, TrainedModel],
    corpus: Corpus,
    selection: Selection,
    rows_of: RowsOf,
    *,
    stacking: Stacking = "mean",
) -> tuple[Ensemble, DedupeThresholds | None, str, float]:
    """Choose an ensemble's weights, decision and thresholds for a dedupe on validation; the test split is not read.

    Args:
        members: trained models by name, each calibrated on the same validation split.
        corpus: the data.
        selection: primary metric, bins and classes.
        rows_of: gives the feature rows of the corpus.
        stacking: `mean`, `logistic` regression on the labels of validation, or such a regression on `features` of
            pairs, which a member has, beside the members' scores.

    Returns:
        The ensemble, thresholds for a dedupe (see `choose_decisions`), the name of the primary metric and its value on
        validation. Where weights are fitted, all but the weights are of cross-fitted scores.

    Raises:
        ValueError: as `Ensemble` does, if the weights cannot be fitted, or if `stacking` is unknown.
        TypeError: if documents are stacked, and a member has no vector per text.
    """
    check_members(members)
    if stacking not in get_args(Stacking):
        raise ValueError(f"stacking must be one of {', '.join(get_args(Stacking))}; got {stacking!r}")
    read = read_corpus_by(members, rows_of, Weights.mean(len(members))).keeping(corpus.members["val"])
    weights = None
    if stacking != "mean":
        weights, read = _stack(read, corpus, selection, with_features=stacking == "features")
    inputs = evaluation_inputs(read, corpus, "val")
    metric, value = primary_value(read, corpus, selection, inputs=inputs)
    decisions, thresholds = choose_decisions(read, inputs, corpus, selection)
    made = Ensemble(members, decisions.selected, corpus.kind == "documents", weights, decisions)
    return made, thresholds, metric, value


def load_members(models: Mapping[str, Path], corpus: Corpus) -> dict[str, TrainedModel]:
    """Load the members of an ensemble.

    Args:
        models: name of each member -> its model folder.
        corpus: the data of the ensemble.

    Raises:
        FileNotFoundError: if one has no trained model.
        ValueError: if one was trained on another train split.
    """
    now = {"name": corpus.name, "train": corpus.train_digest()}
    for name, model in models.items():
        if not (model / layout.RECIPE).exists():
            raise FileNotFoundError(
                f"the ensemble's member {name} has no trained model in {model}: train it first, or name the run "
                "folders, members=[runs/...,runs/...]"
            )
        if (data := trained_on(model)) != now:
            raise ValueError(
                f"the ensemble's member {name} was trained on another train split ({data['name']}) than the one of "
                f"{corpus.name} that is there now, so validation may not be new to it: train {name} again"
            )
    return {name: load_model(model) for name, model in models.items()}


def _stack(
    read: ReadByMembers, corpus: Corpus, selection: Selection, *, with_features: bool = False
) -> tuple[Weights, ReadByMembers]:
    """Return weights that are fitted on all of validation, and the corpus read with cross-fitted ones."""
    fold = np.zeros(len(corpus), np.int64)
    if corpus.kind == "documents":
        documents = corpus.members["val"]
        groups = {name: codes[documents] for name, codes in corpus.groups.items()}
        if (group := finest_group(groups, selection.classes)) is None:
            raise ValueError(
                f"stacking=logistic needs documents with a group of those that are duplicates, such as story; got "
                f"{sorted(groups)}, which are classes (evaluator.classes): use stacking=mean"
            )
        documents = documents[groups[group] != UNKNOWN]
        codes = corpus.groups[group][documents]
        fold[documents] = deal(codes)
        chosen = pairs_of_documents(codes, read.members_matrices(documents))
        left, right = documents[chosen.left], documents[chosen.right]
        label, weight = chosen.label, chosen.weight
    else:
        pairs, code = corpus.pairs["val"], corpus.text_codes()
        left, right = pairs.left, pairs.right
        cluster = components(len(corpus), code[left], code[right])[code]
        fold[corpus.members["val"]] = deal(cluster[corpus.members["val"]])
        label, weight = pairs.label >= corpus.positive_label, None
    scores = read.log_odds(left, right)
    members = scores.shape[1]
    if with_features:
        scores = np.column_stack([scores, read.pair_features(left, right)])
        if scores.shape[1] == members:
            raise ValueError("stacking=features needs a member that has features of a pair, such as matcher")
    fitted = fit_weights(scores, label, weight, members=members)
    by_fold = cross_fit(scores, label, (fold[left], fold[right]), weight, members=members)
    return fitted, replace(read, weights=by_fold, fold=fold)

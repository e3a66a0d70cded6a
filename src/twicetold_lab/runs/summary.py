"""The summary of a run besides its metrics, which is kept in Git."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.trained.provenance import may_have_seen, pretrained_on_of, seen_of
from twicetold_lab.evaluation.units import PairedUnits, to_json

UNITS = "units"  # a list, of which DVC shows nothing among its metrics
DRAWN_FROM = {"stsb": ("nli",)}
"""Dataset -> sources that texts of it were drawn from. STS-B has sentences of SNLI (Cer et al., SemEval 2017)."""


def may_be_contaminated(seen: Sequence[str] | None, data: str) -> bool:
    """Return true if texts of a dataset may be among what was seen.

    Args:
        seen: names of sources, or of single datasets; None where they are not known.
        data: name of the dataset.
    """
    return any(may_have_seen(seen, name) for name in (data, *DRAWN_FROM.get(data, ())))


def summary(
    model: Path,
    *,
    intervals: Mapping[str, tuple[float, float]],
    tuned_how: str,
    units: Mapping[str, PairedUnits],
) -> Mapping[str, Any]:
    """Return the content of `layout.SUMMARY`.

    Args:
        model: the trained model's folder.
        intervals: test metric -> ends of its 95 % interval.
        tuned_how: where the model's settings come from, in words.
        units: test measure -> what a comparison of two models in pairs needs.

    Returns:
        Plain containers.
    """
    training = json.loads((model / layout.TRAINING).read_text(encoding="utf-8"))
    return {
        "epochs": training["epochs"],
        "intervals": intervals,
        "parameters": training["parameters"],
        "pretrained_on": pretrained_on_of(model),
        "primary": training["metric"],
        "seen": seen_of(model),
        "tuned_how": tuned_how,
        UNITS: to_json(units),
    }

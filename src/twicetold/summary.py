"""What the results say of a run besides its metrics, small enough for Git."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.evaluation.decision import Verdict
from twicetold.features.hashing_card import by_view
from twicetold.provenance import pretrained_on_of


def summary(
    model: Path, *, intervals: Mapping[str, tuple[float, float]], samples: Sequence[Verdict]
) -> Mapping[str, Any]:
    """The content of `layout.SUMMARY`.

    Args:
        model: the trained model's folder.
        intervals: test metric -> ends of its 95 % interval.
        samples: what the model says of the evaluator's sample pairs.

    Returns:
        Plain containers. `word_hashing` is by view of the features, empty where they hash no words.
    """
    training = _read(model / layout.TRAINING)
    state = model / layout.FEATURISER_STATE
    return {
        "epochs": training["epochs"],
        "intervals": intervals,
        "parameters": training["parameters"],
        "pretrained_on": pretrained_on_of(model),
        "primary": training["metric"],
        "samples": [asdict(verdict) for verdict in samples],
        "word_hashing": by_view(_read(state).get("card_")) if state.exists() else {},
    }


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))

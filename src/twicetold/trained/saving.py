"""Writing the folder of a model that was trained or fitted; `model_folder` reads it.

By itself, so that a training does not depend on what reads such folders.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from twicetold import layout
from twicetold.evaluation.dedupe import Chosen
from twicetold.features.saved import save_fitted
from twicetold.files import write_folder, write_json
from twicetold.trained.scoring import Scorer, in_use


def save_scorer(
    folder: Path,
    scorer: Scorer,
    *,
    features: Mapping[str, Any],
    encoder: Mapping[str, Any],
    data: Mapping[str, str],
    training: Mapping[str, Any],
    pretrained_on: Sequence[str] = (),
    seen: Sequence[str] | None = (),
    thresholds: Chosen | None = None,
) -> None:
    """Write everything that scoring needs to `folder`, atomically.

    Args:
        folder: the model folder.
        scorer: the model.
        features: configuration that the featuriser was built from.
        encoder: configuration that the encoder was built from.
        data: `name` of the corpus and digest of its `train` texts.
        training: how it went.
        pretrained_on: descriptions of its pretraining data, from `provenance.pretrained_on`.
        seen: sources of data among these, from `provenance.seen`.
        thresholds: for a dedupe, if there are any.
    """
    recipe = {"features": features, "encoder": encoder, "as_documents": scorer.as_documents}
    recipe |= {"data": dict(data), "pretrained_on": list(pretrained_on)}
    recipe |= {"seen": None if seen is None else list(seen)}
    weights = in_use(scorer.encoder).state()
    with write_folder(folder) as target:
        save_fitted(scorer.featuriser, target)
        save_file(weights, target / layout.WEIGHTS)
        write_json(target / layout.RECIPE, recipe)
        write_json(target / layout.DECISION, scorer.decisions.to_json())
        if thresholds is not None:
            write_json(target / layout.PRECISION, thresholds.to_json())
        write_json(target / layout.TRAINING, training)

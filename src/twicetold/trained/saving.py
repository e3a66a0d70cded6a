"""Writing what a training or a fit has made: a featuriser, an encoder, and where they come from.

By itself, so that a training depends neither on what decides about a model nor on what reads its folder.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from twicetold import layout
from twicetold.features.rows import Featuriser
from twicetold.features.saved import save_fitted
from twicetold.files import write_json
from twicetold.trained.reading import AnyEncoder, in_use


def write_trained(
    folder: Path,
    featuriser: Featuriser,
    encoder: AnyEncoder,
    *,
    as_documents: bool,
    features: Mapping[str, Any],
    settings: Mapping[str, Any],
    data: Mapping[str, str],
    training: Mapping[str, Any],
    pretrained_on: Sequence[str] = (),
    seen: Sequence[str] | None = (),
) -> None:
    """Write into a folder all that scoring needs, but no decision.

    Args:
        folder: that is there.
        featuriser: fitted.
        encoder: trained, or one that has nothing to learn.
        as_documents: whether it was trained on documents.
        features: configuration that the featuriser was built from.
        settings: configuration that the encoder was built from.
        data: `name` of the corpus and digest of its `train` texts.
        training: how it went.
        pretrained_on: descriptions of its pretraining data, from `provenance.pretrained_on`.
        seen: sources of data among these, from `provenance.seen`.
    """
    recipe = {"features": features, "encoder": settings, "as_documents": as_documents}
    recipe |= {"data": dict(data), "pretrained_on": list(pretrained_on)}
    recipe |= {"seen": None if seen is None else list(seen)}
    save_fitted(featuriser, folder)
    save_file(in_use(encoder).state(), folder / layout.WEIGHTS)
    write_json(folder / layout.RECIPE, recipe)
    write_json(folder / layout.TRAINING, training)

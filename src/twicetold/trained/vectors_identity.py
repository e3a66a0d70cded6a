"""Identity of vectors: of a model's by what is in its folder, and of those made elsewhere by probes of them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.fingerprint import LENGTH, folder_digest
from twicetold.trained.folder_files import read_recipe

PROBES = 50  # pairs whose cosines are kept
NEAR = 0.02  # difference of cosines, as of vectors in half precision


def fingerprint(model: Path) -> str:
    """Return the fingerprint of what decides a model's vectors: weights, featuriser and their settings.

    Threshold and calibration are left out, because vectors do not depend on them, so a model may be calibrated again.
    Those of an ensemble's members count, because they weight its vectors, and so do its weights.

    Returns:
        16 hexadecimal digits of a SHA-256.
    """
    recipe = read_recipe(model)
    named = ("encoder", "features", "as_documents", "members", "weights")
    parts = {name: recipe[name] for name in named if name in recipe}
    total = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    for name in recipe.get("members", []):
        member = model / layout.MEMBER_MODELS / name
        total.update(f"{fingerprint(member)} {folder_digest(member, [layout.DECISION])}".encode())
    if "members" not in recipe:
        names = [layout.WEIGHTS, layout.FEATURISER_ARRAYS, layout.FEATURISER_STATE]
        total.update(folder_digest(model, names).encode())
    return total.hexdigest()[:LENGTH]


@dataclass(frozen=True)
class Probe:
    """Digests of two texts, and the cosine of their vectors."""

    left: str
    right: str
    cosine: float


@dataclass(frozen=True)
class VectorProbes:
    """Vectors that labels were given about: their width, and the cosines of some pairs of texts."""

    width: int
    pairs: tuple[Probe, ...]

    @classmethod
    def of(cls, width: int, left: Sequence[str], right: Sequence[str], cosine: Sequence[float]) -> "VectorProbes":
        """Return the first pairs of texts with their cosines."""
        pairs = [*zip(left, right, cosine, strict=True)][:PROBES]
        return cls(width, tuple(Probe(_digest(one), _digest(other), round(each, 4)) for one, other, each in pairs))

    def require(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Check that vectors of these texts may come from where those of the labels came from.

        Raises:
            ValueError: if they have another width, or texts that were labelled have other cosines.
        """
        labelled = "labels were given about other vectors than these"
        if vectors.shape[1] != self.width:
            raise ValueError(f"{labelled}: expected {self.width} numbers of a vector, got {vectors.shape[1]}")
        row = {_digest(text): number for number, text in enumerate(texts)}
        known = [each for each in self.pairs if {each.left, each.right} <= row.keys()]
        apart = [abs(float(vectors[row[each.left]] @ vectors[row[each.right]]) - each.cosine) for each in known]
        if apart and (middle := float(np.median(apart))) > NEAR:
            raise ValueError(
                f"{labelled}: the cosines of labelled pairs among the texts differ by {middle:.2f} (median of "
                f"{len(apart)}). Give vectors of the same model, or label pairs and calibrate with these"
            )


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()[:LENGTH]

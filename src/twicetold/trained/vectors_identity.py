"""Identity of a model, by what is in its folder."""

import hashlib
import json
from pathlib import Path

from twicetold import layout
from twicetold.fingerprint import LENGTH, folder_digest
from twicetold.trained.folder_files import read_recipe


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

"""The stage `compare`: links and groups of all rows, by the very function that a file goes through.

Where texts were compared in blocks, it holds the numbers of all pairs, and reads terms and vectors as they are asked
for; else it compares all rows in memory, of whatever size the parts are. The stage `model` checks what it will need.

Shape letters: n rows of all parts.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.groups import values_to_keep
from twicetold.dedupe.options import OF_FOLDERS, DedupeOptions
from twicetold.dedupe.prepared import require_vectors
from twicetold.dedupe.thresholds import Thresholds
from twicetold.fingerprint import folder_digest
from twicetold.staged.arrays import write_arrays
from twicetold.staged.pair_stages import filed_comparison
from twicetold.staged.plan import Plan
from twicetold.staged.row_stages import texts_of_rows, values_of
from twicetold.tables.blocks import one_piece
from twicetold.tables.columns import distances_by, keys_of, strings_of
from twicetold.trained.fitted import Fitted, mixture
from twicetold.trained.loaded import NOWHERE, LoadedModel


def model(plan: Plan, name: str) -> dict[str, Any]:
    """Check that a model can be used.

    Returns:
        What is known of its links.

    Raises:
        TypeError: if it scores pairs only.
        ValueError: as `Thresholds.of`.
    """
    model = _model(plan.settings.model)
    thresholds = Thresholds.of(model, plan.settings, by_matcher=True)
    if not thresholds.by_matcher:
        require_vectors(model, ["a"])
    return {"evidence": thresholds.in_words}


def compare(plan: Plan, name: str) -> dict[str, Any]:
    """Group the rows of all parts.

    Returns:
        Number of all groups, and a `DedupeSummary` in JSON.

    Raises:
        TypeError: if the model cannot be used with the options.
        ValueError: if a value of a column cannot be used, or no threshold is known for the precision.
    """
    texts, settings = texts_of_rows(plan, np.arange(plan.rows)), plan.settings
    model = _model(settings.model) if settings.model else None
    model = model or LoadedModel(Fitted(DistinctTexts.of(texts).texts, mixture()), NOWHERE)
    comparison = filed_comparison(plan) if plan.divided else None
    found = dedupe(model, texts, _options(plan), comparison=comparison)
    columns = {"group": found.group, "row": found.representative, "probability": found.probability}
    write_arrays(plan, "compare", name, **columns)
    return {"groups": int(found.group.max()) + 1, "summary": found.summary.to_json()}


def _model(folder: str) -> LoadedModel:
    """Return the model of a folder, read once in a process, and again if another one is there."""
    return _loaded(folder, folder_digest(Path(folder)))


@lru_cache(maxsize=1)
def _loaded(folder: str, digest: str) -> LoadedModel:
    return LoadedModel.from_folder(Path(folder))


def _options(plan: Plan) -> DedupeOptions:
    """Return the options of a file, with the values of columns in place of their names."""
    asked: dict[str, Any] = {name: getattr(plan.settings, name) for name in OF_FOLDERS}
    asked["same"] = [_column(plan, name, keys_of) for name in asked["same"]]
    asked["also"] = [_column(plan, name, strings_of) for name in asked["also"]]
    asked["within"] = [(_column(plan, name, distances_by(size)), size) for name, size in asked["within"]]
    if isinstance(asked["keep"], tuple):
        rule, name = asked["keep"]
        asked["keep"] = rule, _column(plan, name, lambda column: values_to_keep(rule, column))
    return DedupeOptions(**asked)


def _column(plan: Plan, name: str, kind: Any) -> pa.Array:
    """Return (n,) values of a column, as texts where parts have it in several types, once they are of a kind."""
    parts = values_of(plan, name)
    if len({part.type for part in parts}) > 1:
        parts = [pa.array(strings_of(part), pa.string()) for part in parts]
    column = one_piece(pa.chunked_array(parts))
    try:
        kind(column)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} of the parts: {error}") from error
    return column

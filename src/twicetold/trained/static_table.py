"""A small copy of a `static` or `pretrained_static` model: its table of vectors in 8 or 16 bits, memory-mapped.

The score of these families is the cosine of two sums of rows, so it needs neither the rows' exact values nor all of
them in memory. With 8 bits each row has its own scale, the largest absolute value of the row divided by 127, and is
rounded to whole multiples of it. The 18 million numbers of `quora_wang-static-0` are 18.7 MB instead of 73.6 MB.

    E[c] ≈ scale_c q[c]                    q[c]: int8; or float16 without a scale

Only rows of columns that occur in a batch are read from disk. A folder has no pickle, and what is in it is checked.

Shape letters: B texts, V columns, U different columns of a batch, D dimensions.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.inputs import described
from twicetold.features.saved import write_matrix
from twicetold.files import write_folder, write_json
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.columns import Floats, PretrainedTable, StaticTable, Table
from twicetold.trained.folder_files import read_recipe, refusing
from twicetold.trained.model_folder import load_featuriser, load_scorer
from twicetold.trained.scoring import Scorer
from twicetold.trained.threshold_record import read_decisions

Bits = Literal["int8", "float16"]
TABLE = "table.npy"  # (V, D) int8 or float16
SCALES = "scales.npy"  # (V,) float32, with int8 only
KINDS: Mapping[type, str] = {StaticTable: "static", PretrainedTable: "pretrained_static"}  # sums of rows of a table
KEY = "table"  # of the recipe, in place of `encoder`
KEPT = (
    layout.FEATURISER_ARRAYS,
    layout.FEATURISER_STATE,
    layout.DECISION,
    layout.PRECISION,
    layout.TRAINING,
    layout.CALIBRATION,
)
"""Files of the model folder that the copy has as they are, where they are there."""
ROWS = 8192  # quantised at a time


class SmallTable(Table):
    """A table in fewer bits.

    Args:
        table: (V, D), memory-mapped.
        scales: (V,) of int8, or None.
    """

    def __init__(self, table: NDArray[Any], scales: NDArray[np.float32] | None) -> None:
        self.table, self.scales = table, scales

    def rows(self, columns: NDArray[np.int32]) -> Floats:
        """(..., D) rows in 32 bits."""
        rows = self.table[columns].astype(np.float32)
        if self.scales is not None:
            rows *= self.scales[columns][..., None]
        return rows

    def linear_maps(self) -> tuple[Matrix, Matrix]:
        """(V, D) contribution of each column, in memory; the same for queries and documents."""
        whole = self.rows(np.arange(len(self.table), dtype=np.int32))
        return whole, whole


def save_table(model: Path, folder: Path, *, bits: Bits) -> None:
    """Write a small copy of the model in `model` to `folder`, replacing what was there only when it is done.

    Thresholds, calibration and what was promised are those of the model: the scores hardly change.

    Args:
        model: the model folder of a model of one of `KINDS`.
        folder: becomes a model folder that `twicetold.load` reads.
        bits: of each number.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the model is of another family, or has a number that float16 cannot hold.
    """
    encoder = load_scorer(model).encoder
    if not isinstance(encoder, StaticTable | PretrainedTable):
        raise ValueError(
            f"expected a model of the family {' or '.join(KINDS.values())}, whose vectors are a table; {model} is "
            f"{type(encoder).__name__}: use its folder as it is"
        )
    weight = encoder.linear_maps()[0]
    if bits == "float16" and not np.abs(weight).max(initial=0) < np.finfo(np.float16).max:
        raise ValueError("the table has numbers beyond the range of float16: use int8")
    recipe = {name: value for name, value in read_recipe(model).items() if name != "encoder"}
    with write_folder(folder) as target:
        for name in KEPT:
            if (model / name).is_file():
                shutil.copyfile(model / name, target / name)
        scales = np.empty(len(weight), np.float32)
        with write_matrix(target / TABLE, dtype=bits, shape=weight.shape) as write:
            for start in range(0, len(weight), ROWS):
                part = slice(start, start + ROWS)
                rows, scales[part] = _rounded(weight[part], bits)
                write(rows)
        if bits == "int8":
            np.save(target / SCALES, scales)
        write_json(target / layout.RECIPE, {**recipe, KEY: {"family": KINDS[type(encoder)], "bits": bits}})


def load_table(folder: Path) -> Scorer:
    """Load what `save_table` wrote; the table stays on disk.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the folder is damaged, or asks for anything that a model does not need.
    """
    recipe = read_recipe(folder)
    with refusing(folder, what="load the table", again="export the model"):
        bits = recipe[KEY]["bits"]
        if bits not in ("int8", "float16"):
            raise ValueError(f"expected int8 or float16 as bits, got {described(bits)}")
        if not isinstance(recipe.get("as_documents"), bool):
            raise ValueError(f"expected as_documents to be true or false, got {described(recipe.get('as_documents'))}")
        featuriser = load_featuriser(recipe["features"], folder)
        width = featuriser.shape["width"]
        table = np.load(folder / TABLE, mmap_mode="r", allow_pickle=False)
        if table.dtype != bits or table.ndim != 2 or len(table) != width:
            raise ValueError(f"expected {width} rows of {bits} in {TABLE}, got {table.shape} of {table.dtype}")
        scales = np.array(np.load(folder / SCALES, mmap_mode="r", allow_pickle=False)) if bits == "int8" else None
        if scales is not None and (scales.dtype != np.float32 or scales.shape != (width,)):
            raise ValueError(f"expected {width} float32 in {SCALES}, got {scales.shape} of {scales.dtype}")
        if scales is not None and not np.isfinite(scales).all():
            raise ValueError(f"{SCALES} has a value that is not finite")
        encoder = SmallTable(table, scales)
        decisions = read_decisions(folder)
        scorer = Scorer(featuriser, encoder, decisions.selected, recipe["as_documents"], decisions)
        if not np.isfinite(scorer.score(["a text"], ["another"])).all():
            raise ValueError("the score of two texts is not a number")
    return scorer


def is_table(folder: Path) -> bool:
    """True if a model folder holds a table in place of an encoder."""
    try:
        return KEY in read_recipe(folder)
    except (OSError, ValueError):
        return False  # `load_model` says what is wrong


def _rounded(rows: NDArray[np.float32], bits: Bits) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Rows in fewer bits, and the scale of each."""
    if bits == "float16":
        return rows.astype(np.float16), np.ones(len(rows), np.float32)
    scale = np.abs(rows).max(axis=1, initial=0).astype(np.float32) / np.float32(127)
    divisor = np.where(scale > 0, scale, np.float32(1))  # a row of zeros stays so
    return np.rint(rows / divisor[:, None]).astype(np.int8), scale

"""A folder of vectors of tokens from anywhere: checked before anything of its size is allocated.

A small file may ask for much memory: with `mapping`, tokens share rows of the table, and each gets a copy of its row.
"""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from twicetold.features.static_tokens import SUBFOLDER, TABLES
from twicetold.features.tokenizer_parts import loaded
from twicetold.trained.folder_files import STATE_LIMIT, read_object

TOKENIZER, WEIGHTS, CONFIG = "tokenizer.json", "model.safetensors", "config.json"
FLOATS, WHOLE = ("F16", "F32", "F64"), ("I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64")
NUMBERS = 1 << 28  # of the vectors of all tokens, such as 256 for a million tokens (1 GB)
BLOCK = 1 << 22  # numbers that are read at a time


def files_in(folder: Path) -> Path:
    """Return the folder of the files: this one, or the one within it that sentence-transformers writes.

    Raises:
        ValueError: if there are none.
    """
    place = folder if (folder / TOKENIZER).is_file() else folder / SUBFOLDER
    if missing := [name for name in (TOKENIZER, WEIGHTS) if not (place / name).is_file()]:
        raise ValueError(
            f"expected vectors of tokens in {folder}, as model2vec and StaticEmbedding of sentence-transformers write "
            f"them: there {'is' if len(missing) == 1 else 'are'} no {' and '.join(missing)}"
        )
    return place


def checked_width(place: Path) -> int:
    """Return the length of a vector, once all files are what they should be.

    Raises:
        ValueError: if one is not; says which.
    """
    tokens = _tokens(place / TOKENIZER)
    with safe_open(place / WEIGHTS, framework="numpy") as tensors:
        names = set(tensors.keys())
        table = next((name for name in TABLES if name in names), None)
        if table is None:
            raise ValueError(f"{WEIGHTS}: expected a table {' or '.join(TABLES)}, got {sorted(names)!r:.80}")
        rows, width = _shape(tensors, table, FLOATS, 2)
        count = rows
        if "mapping" in names:
            (count,) = _shape(tensors, "mapping", WHOLE, 1)
            if count > tokens:
                raise ValueError(f"{WEIGHTS}: expected a mapping of at most {tokens:,} tokens, got {count:,}")
        if not width or not count or count * width > NUMBERS:
            raise ValueError(f"{WEIGHTS}: expected 1 to {NUMBERS:,} numbers in all vectors, got {count:,} x {width:,}")
        if "mapping" in names:
            mapping = tensors.get_tensor("mapping")
            if mapping.min() < 0 or mapping.max() >= rows:
                raise ValueError(
                    f"{WEIGHTS}: expected a mapping to the rows 0 to {rows - 1:,}, got {mapping.min()} to "
                    f"{mapping.max()}"
                )
        if "weights" in names:
            _require_finite(tensors, "weights", _shape(tensors, "weights", FLOATS, 1), (count,))
        _require_finite(tensors, table, (rows, width), (rows, width))
    return width


def is_model2vec(place: Path) -> bool:
    """Return true if the folder's config names the type model2vec.

    Raises:
        ValueError: if what says so is no JSON object.
    """
    file = place / CONFIG
    if not file.is_file():
        return False
    return bool(read_object(file).get("model_type") == "model2vec")


def _tokens(file: Path) -> int:
    """Return the number of codes that the tokens of a tokenizer may have."""
    read_object(file, limit=STATE_LIMIT)
    vocabulary = loaded(file.read_text(encoding="utf-8"), None).get_vocab()
    if not vocabulary:
        raise ValueError(f"{file.name}: expected tokens in the vocabulary, got none")
    return int(max(vocabulary.values())) + 1


def _shape(tensors: Any, name: str, kinds: tuple[str, ...], dimensions: int) -> tuple[int, ...]:
    """Return the shape of a tensor, of which only the head is read."""
    about = tensors.get_slice(name)
    shape, kind = tuple(about.get_shape()), about.get_dtype()
    if len(shape) != dimensions or kind not in kinds:
        raise ValueError(
            f"{WEIGHTS}: expected {name} in {dimensions} dimensions of {', '.join(kinds)}, got {shape} of {kind}"
        )
    return shape


def _require_finite(tensors: Any, name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ValueError(f"{WEIGHTS}: expected {name} of the shape {expected}, got {shape}")
    step = max(1, BLOCK // max(1, int(np.prod(shape[1:]))))
    part = tensors.get_slice(name)
    for start in range(0, shape[0], step):
        with np.errstate(over="ignore"):
            numbers = part[start : min(start + step, shape[0])].astype(np.float32)
        if not np.isfinite(numbers).all():
            raise ValueError(f"{WEIGHTS}: expected finite numbers in {name}, got NaN or infinity")

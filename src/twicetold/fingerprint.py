"""Fingerprints of trainings: the same learning keys, code and data give the same fingerprint.

A fingerprint identifies a run in a tracking store, or a checkpoint on disk, without a run id in a tracked file.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LENGTH = 16  # hexadecimal digits, that is 64 bits


def fingerprint(learning: Mapping[str, Any], data_digest: str) -> str:
    """Hash the learning keys and the data, independent of the order of keys.

    `1` and `1.0` are different values on purpose: scikit-learn reads `max_df=1` as one document and `max_df=1.0`
    as all of them.

    Args:
        learning: the keys that change what is learned, as plain mappings, lists, strings, numbers, booleans, None.
        data_digest: digest of the data, say from `folder_digest`.

    Returns:
        16 hexadecimal digits of a SHA-256.

    Raises:
        TypeError: if a value is none of the plain kinds.
    """
    try:
        text = json.dumps({"data": data_digest, "learning": dict(learning)}, sort_keys=True, separators=(",", ":"))
    except TypeError as error:
        raise TypeError(
            f"learning keys must be plain mappings, lists, strings, numbers, booleans or None ({error}): "
            "resolve the configuration to plain containers first"
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def folder_digest(folder: Path, names: Iterable[str] | None = None) -> str:
    """Return SHA-256 over files of a folder: their names and bytes, in sorted order.

    Args:
        folder: where the files are; its own name and place do not enter.
        names: file names relative to `folder`; None for all files, those of subfolders included.

    Returns:
        64 hexadecimal digits.

    Raises:
        FileNotFoundError: if a named file is missing.
    """
    if names is None:
        names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    total = hashlib.sha256()
    for name in sorted(set(names)):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"expected the file {name} in {folder}: run the stage that writes this folder first"
            )
        with (folder / name).open("rb") as file:
            # one fixed-length digest per file, so that the boundaries of files count
            total.update(hashlib.sha256(name.encode()).digest() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()

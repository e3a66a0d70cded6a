"""Freshness of prepared data, by the settings and digests on their cards and not by file times.

DVC decides this for the pipeline; scripts that run without DVC call these functions before they load anything.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold_lab.data.corpus import Corpus


def own_file_digest(source: Mapping[str, Any]) -> str | None:
    """SHA-256 of the file that a source reads from the user's own `path`; None where it has none or it is missing.

    Downloaded files need no digest here: theirs are part of the settings, or checked when they are fetched.
    """
    path = source.get("path")
    if not path or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def corpus_is_current(processed: Path, data: Mapping[str, Any]) -> bool:
    """Check that a corpus exists and was made with these settings from these files.

    Args:
        processed: folder of the corpus.
        data: the dataset's settings, resolved.
    """
    card = processed / layout.CARD
    return card.exists() and is_made_with(json.loads(card.read_text(encoding="utf-8"))["card"], data)


def is_made_with(card: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Check that a corpus with this card was made with these settings from these files."""
    wanted = {"source": data["source"], "own_file": own_file_digest(data["source"])}
    return {name: card.get(name) for name in wanted} == wanted


def triplets_are_current(folder: Path, corpus: Corpus, *, label: str) -> bool:
    """Check that triplets exist, chosen from the train texts of this corpus by this label.

    Args:
        folder: of the triplets.
        corpus: the data.
        label: name of the group that says which texts belong together.
    """
    now = {"train": corpus.train_digest(), "label": label}
    cards = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob(f"*{layout.TRIPLETS_CARD}")]
    return folder.is_dir() and all({name: card.get(name) for name in now} == now for card in cards)

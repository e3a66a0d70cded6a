"""What the evaluation of a model promises of its links in other files."""

import json
from pathlib import Path

from twicetold import layout
from twicetold.evaluation.inputs import described
from twicetold.evaluation.promise import Promise

PROMISE = "promise"  # in the summary


def read_promise(folder: Path) -> Promise | None:
    """The promise in the summary of the run that a model folder lies in; None outside of a run, or with an older one.

    Training removes the summary of the model that was there before.

    Raises:
        ValueError: if the summary is damaged.
    """
    file = folder.parent / layout.SUMMARY
    if folder.name != layout.MODEL or not file.is_file():
        return None
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        found = summary.get(PROMISE) if isinstance(summary, dict) else summary
        if found is None or isinstance(found, dict):
            return None if found is None else Promise.from_json(found)
        raise ValueError(f"got {described(found)}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: expected what `evaluate` writes, with a promise or without one: {error}") from error

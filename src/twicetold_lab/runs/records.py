"""Files that the report reads besides run folders: descriptions of datasets, metrics."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.evaluation.inputs import described, is_number
from twicetold.evaluation.stored import json_object
from twicetold.files import write_text

CARDS = Path("data/cards")  # of datasets


@dataclass(frozen=True)
class Provenance:
    """Description of one dataset."""

    name: str
    kind: str
    card: Mapping[str, Any]
    """Counts and notes of the source, without the audit."""
    audit: Mapping[str, Any]


def read_provenance(data: str, processed: Path) -> Provenance:
    """Return the corpus card of one dataset.

    Raises:
        FileNotFoundError: if it is missing; says which stage to run.
    """
    about = read_json(processed / data / layout.CARD, stage=f"prepare@{data}")
    card = dict(about["card"])
    audit = card.pop("audit", {})
    for name in ("files", "source"):  # these are in `conf/data`
        card.pop(name, None)
    return Provenance(data, about["kind"], card, audit)


def write_card(about: Provenance, folder: Path) -> None:
    """Write the description of a dataset."""
    text = json.dumps(asdict(about), ensure_ascii=False, indent=2, sort_keys=True)
    write_text(_card_file(about.name, folder), text + "\n")


def has_card(data: str, folder: Path) -> bool:
    """Return true if `write_card` wrote the description of a dataset."""
    return _card_file(data, folder).is_file()


def read_card(data: str, folder: Path) -> Provenance:
    """Return the description of a dataset that `write_card` wrote.

    Raises:
        FileNotFoundError: if it is missing.
    """
    about = read_json(_card_file(data, folder), stage="report")
    return Provenance(about["name"], about["kind"], about["card"], about["audit"])


def _card_file(data: str, folder: Path) -> Path:
    return folder / f"{data}.json"


def read_metrics(folder: Path) -> dict[str, dict[str, float]]:
    """Split -> metric -> value of a run, NaN where it is undefined; empty if it was not evaluated.

    Raises:
        ValueError: if the file holds something else.
    """
    found = read_object(folder / layout.METRICS)
    splits = {split: found[split] for split in ("val", "test", "train") if isinstance(found.get(split), Mapping)}
    return {split: {name: _number(name, value) for name, value in values.items()} for split, values in splits.items()}


def intervals_of(summary: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Test metric -> ends of its 95 % interval, from the summary of a run; empty if it has none."""
    return {name: (float(low), float(high)) for name, (low, high) in summary.get("intervals", {}).items()}


def read_object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if there is no file.

    Raises:
        ValueError: if the file holds something else.
    """
    return json_object(file, str(file)) if file.is_file() else {}


def read_json(path: Path, *, stage: str) -> dict[str, Any]:
    """Return the JSON object in a file that a stage writes.

    Raises:
        FileNotFoundError: if it is missing; says which stage to run.
    """
    require(path, stage=stage)
    return read_object(path)


def require(path: Path, *, stage: str) -> None:
    """Check that a file is there.

    Raises:
        FileNotFoundError: if not; says which stage writes it.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: the report needs it and the stage {stage} writes it. "
            f"Run `dvc repro {stage}`, or take the cell out of the grid."
        )


def _number(name: str, value: Any) -> float:
    """Return a metric of JSON; null where it is undefined."""
    if value is None:
        return math.nan
    if not (is_number(value) or type(value) is float):
        raise ValueError(f"expected numbers as metrics, got {described(value)} as {name!r:.80}")
    return float(value)

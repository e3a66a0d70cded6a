"""The content of an index folder for people and other programs. The model is not needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import sparse

from twicetold.index.folder import FORMAT, MODEL, read
from twicetold.index.segments import REMOVED
from twicetold.index.state import groups_of, table_of
from twicetold.neighbours.rules import Rule


@dataclass(frozen=True)
class IndexInfo:
    """Numbers of an index.

    Args:
        folder: of the index.
        format: version of the folder's form.
        texts: that can be found.
        removed: texts that still take space.
        parts: that a search goes through.
        dimensions: columns of the vectors.
        sparse: whether the vectors are those of a lexical family.
        bytes: of all files.
        model: folder of the model, as it was when the index was built.
        fingerprint: of the model.
        threshold: score from which two texts belong to one group, by the matcher log odds; None if the index has no
            groups.
        probability: the same as a probability.
        rule: how links make groups; None if the index has no groups.
        neighbours: of each text that are compared.
        evidence: what the threshold rests on, and how precise links are by it, in sentences; none if the index has no
            groups.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
    """

    folder: str
    format: int
    texts: int
    removed: int
    parts: int
    dimensions: int
    sparse: bool
    bytes: int
    model: str
    fingerprint: str
    threshold: float | None
    probability: float | None
    rule: Rule | None
    neighbours: int
    evidence: Sequence[str]
    groups: int
    grouped: int
    largest: int


def index_info(folder: str | Path) -> IndexInfo:
    """Read the numbers of an index. Errors: `open_index`, except those of the model."""
    folder = Path(folder)
    manifest, segments = read(folder)
    groups = groups_of(segments)
    alive = groups != REMOVED
    sizes = np.unique(groups[alive], return_counts=True)[1]
    several = sizes[sizes > 1]
    decision = manifest.decision if manifest.groups else None
    least = None if decision is None else float(decision.probability([decision.threshold])[0])
    return IndexInfo(
        folder=str(folder),
        format=FORMAT,
        texts=int(alive.sum()),
        removed=int((~alive).sum()),
        parts=len(segments),
        dimensions=segments[0].vectors.shape[1] if segments else 0,
        sparse=bool(segments) and sparse.issparse(segments[0].vectors),
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        model=f"{folder / MODEL}" if manifest.model == MODEL else manifest.model,
        fingerprint=manifest.fingerprint,
        threshold=None if decision is None else decision.threshold,
        probability=least,
        rule=manifest.rule if manifest.groups else None,
        neighbours=manifest.neighbours,
        evidence=list(manifest.evidence) if manifest.groups else [],
        groups=len(several),
        grouped=int(several.sum()),
        largest=int(sizes.max(initial=0)),
    )


def grouped_texts(folder: str | Path) -> pa.Table:
    """Return `id`, `text` and `group` of all texts of an index, sorted by group. Errors: `index_info`."""
    return table_of(read(Path(folder))[1])

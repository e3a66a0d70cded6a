"""What is in the folder of an index, for people. The model is not needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from twicetold.index.folder import FORMAT, read
from twicetold.index.groups import Proposal
from twicetold.index.segments import groups_of


@dataclass(frozen=True)
class IndexInfo:
    """Numbers of an index.

    Args:
        folder: of the index.
        format: version of the folder's form.
        texts: that can be found.
        removed: texts that still take space.
        parts: that a search goes through.
        cells: of the parts that are searched approximately; 0 if all are searched exactly.
        dimensions: columns of the vectors.
        sparse: whether the vectors are those of a lexical family.
        bytes: of all files.
        model: folder of the model, as it was when the index was built.
        fingerprint: of the model.
        threshold: score from which two texts belong to one group; None if the index has no groups.
        probability: the same as a probability.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
        proposals: merges of groups.
    """

    folder: str
    format: int
    texts: int
    removed: int
    parts: int
    cells: int
    dimensions: int
    sparse: bool
    bytes: int
    model: str
    fingerprint: str
    threshold: float | None
    probability: float | None
    groups: int
    grouped: int
    largest: int
    proposals: Sequence[Proposal]


def index_info(folder: str | Path) -> IndexInfo:
    """Read the numbers of an index. Errors: `open_index`, but for those of the model."""
    folder = Path(folder)
    manifest, segments = read(folder)
    alive = np.concatenate([np.empty(0, bool), *(segment.alive for segment in segments)])
    sizes = np.unique(groups_of(segments, manifest.merged)[alive], return_counts=True)[1]
    several = sizes[sizes > 1]
    decision = manifest.decision if manifest.groups else None
    return IndexInfo(
        folder=str(folder),
        format=FORMAT,
        texts=int(alive.sum()),
        removed=int((~alive).sum()),
        parts=len(segments),
        cells=sum(len(segment.cells.centres) for segment in segments if segment.cells is not None),
        dimensions=segments[0].vectors.shape[1] if segments else 0,
        sparse=bool(segments) and sparse.issparse(segments[0].vectors),
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        model=manifest.model,
        fingerprint=manifest.fingerprint,
        threshold=None if decision is None else decision.threshold,
        probability=None if decision is None else float(decision.probability([decision.threshold])[0]),
        groups=len(several),
        grouped=int(several.sum()),
        largest=int(sizes.max(initial=0)),
        proposals=list(manifest.proposals),
    )

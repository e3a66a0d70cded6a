"""What is in the folder of an index, for people. The model is not needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import sparse

from twicetold.dedupe.options import DEFAULTS
from twicetold.index.folder import IndexManifest, read
from twicetold.index.groups import Proposal
from twicetold.index.memberships import NO_TIE, Memberships, Pair
from twicetold.index.parts import alive_of, members_of, table_of
from twicetold.neighbours.rules import Rule


@dataclass(frozen=True)
class Merge:
    """A group that is part of another one, and can be taken out again.

    Args:
        group: its number.
        into: the group that it is part of.
        texts: that were in it.
        tied: whether a person has made the merge, so that the rule does not undo it.
    """

    group: int
    into: int
    texts: int
    tied: bool


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
        threshold: score from which two texts belong to one group; None if the index has no groups.
        probability: the same as a probability; None where nobody has labelled anything.
        rule: how links make groups; None if the index has no groups.
        rule_is_known: whether the index says so; one that an earlier version made does not, and the default is taken.
        neighbours: of each text that are compared.
        evidence: what the threshold rests on, how precise links are by it, and whether it is about the rule, in
            sentences; none if the index has no groups, or an earlier version made it.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
        proposals: merges of groups.
        merges: that can be undone, sorted by group.
        apart: pairs of groups that stay apart.
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
    rule_is_known: bool
    neighbours: int
    evidence: Sequence[str]
    groups: int
    grouped: int
    largest: int
    proposals: Sequence[Proposal]
    merges: Sequence[Merge]
    apart: Sequence[Pair]


def index_info(folder: str | Path) -> IndexInfo:
    """Read the numbers of an index. Errors: `open_index`, but for those of the model."""
    folder = Path(folder)
    manifest, segments = read(folder)
    alive = alive_of(segments)
    members = members_of(segments).at(alive)
    sizes = np.unique(members.group, return_counts=True)[1]
    several = sizes[sizes > 1]
    decision = manifest.decision if manifest.groups else None
    calibrated = None if manifest.guessed else decision
    return IndexInfo(
        folder=str(folder),
        format=manifest.format,
        texts=int(alive.sum()),
        removed=int((~alive).sum()),
        parts=len(segments),
        dimensions=segments[0].vectors.shape[1] if segments else 0,
        sparse=bool(segments) and sparse.issparse(segments[0].vectors),
        bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        model=manifest.model,
        fingerprint=manifest.fingerprint,
        threshold=None if decision is None else decision.threshold,
        probability=None if calibrated is None else float(calibrated.probability([calibrated.threshold])[0]),
        rule=(manifest.rule or DEFAULTS.rule) if manifest.groups else None,
        rule_is_known=manifest.rule is not None,
        neighbours=manifest.neighbours,
        evidence=[*manifest.evidence, *_of_another_rule(manifest)] if manifest.groups else [],
        groups=len(several),
        grouped=int(several.sum()),
        largest=int(sizes.max(initial=0)),
        proposals=list(manifest.proposals),
        merges=_merges(members),
        apart=list(manifest.ignored),
    )


def grouped_texts(folder: str | Path) -> pa.Table:
    """`id`, `text` and `group` of all texts of an index, sorted by group. Errors: `index_info`."""
    return table_of(read(Path(folder))[1])


def _of_another_rule(manifest: IndexManifest) -> Iterator[str]:
    rule = manifest.rule or DEFAULTS.rule
    if manifest.built_by is not None and rule != manifest.built_by:
        yield (
            f"the threshold was taken for groups by the rule {manifest.built_by}, and is kept for {rule}: how right "
            "groups are was not measured"
        )


def _merges(members: Memberships) -> list[Merge]:
    moved = members.at(members.origin != members.group)
    origins, first, count = np.unique(moved.origin, return_index=True, return_counts=True)
    found = zip(origins, moved.group[first], count, moved.tie[first] != NO_TIE, strict=True)
    return [Merge(int(group), int(into), int(texts), bool(tied)) for group, into, texts, tied in found]

"""How many of the nearest texts a search in cells finds, measured on texts of the index itself.

The texts are those whose vectors in 8 bits have the lowest hashes, so recall does not depend on how the texts are
divided into parts.

Shape letters: S texts of the sample, D columns, C cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.errors import require
from twicetold.evaluation.inputs import is_number
from twicetold.index.centres import Centres
from twicetold.index.hits import Hits
from twicetold.index.parts import alive_of, vectors_of
from twicetold.index.probing import nearest
from twicetold.index.segments import Segment
from twicetold.neighbours.grouping import Ints
from twicetold.neighbours.sample import hashed

ASKED, NEAREST, SALT = 100, 10, 4  # texts of the sample, and neighbours that are looked for
PROBES = (4, 8, 16, 32, 64, 128)
AIM = 0.95  # of a search that does not say how many cells it visits
HASHED = 8  # numbers of a vector in 8 bits
EQUAL = 1e-5  # similarities that are as near: of equal texts either is right


@dataclass(frozen=True)
class Recall:
    """Share of the ten nearest others that a search finds.

    Args:
        texts: of the index when it was measured.
        asked: texts of the sample.
        found: from the number of cells that are visited to the share.
    """

    texts: int
    asked: int
    found: Mapping[int, float]

    @property
    def nprobe(self) -> int:
        """The least number of cells that finds enough."""
        return next((visited for visited, share in self.found.items() if share >= AIM), max(self.found))

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        return {"texts": self.texts, "asked": self.asked, "found": [list(pair) for pair in self.found.items()]}

    @classmethod
    def from_json(cls, values: Any) -> "Recall":
        """Check what was read.

        Raises:
            ValueError: if it is not what `to_json` gives.
        """
        fit = isinstance(values, dict) and all(type(values.get(name)) is int for name in ("texts", "asked"))
        found = values.get("found") if fit else None
        pairs = found if isinstance(found, list) else []
        fit = len(pairs) > 0 and all(
            isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and pair[0] > 0 and is_number(pair[1])
            for pair in pairs
        )
        require(fit, f"expected texts, asked and found as 'recall', got {values!r:.80}")
        return cls(values["texts"], values["asked"], {visited: float(share) for visited, share in values["found"]})


def measured(segments: Sequence[Segment], centres: Centres) -> Recall:
    """The recall of an index in cells.

    Args:
        segments: the parts.
        centres: of their cells.
    """
    alive = np.flatnonzero(alive_of(segments))
    asked = np.sort(alive[np.unique(_hashes(segments)[alive], return_index=True)[1][:ASKED]])
    vectors = np.asarray(vectors_of(segments, asked))
    expected = _others(nearest(segments, centres, vectors, NEAREST + 1, exact=True), asked)
    least = np.full(len(asked), np.inf)
    np.minimum.at(least, expected.query, expected.similarity)
    shares = {}
    for visited in PROBES:
        hits = _others(nearest(segments, centres, vectors, NEAREST + 1, nprobe=visited), asked)
        right = np.count_nonzero(hits.similarity >= least[hits.query] - EQUAL)
        shares[visited] = int(right) / max(1, len(expected.row))
    return Recall(len(alive), len(asked), shares)


def _hashes(segments: Sequence[Segment]) -> NDArray[np.uint64]:
    """Of the vectors of all texts."""
    found = []
    for segment in segments:
        assert segment.cells is not None
        first = segment.cells.codes[:, :HASHED]
        padded = np.zeros((len(first), HASHED), np.int8)
        padded[:, : first.shape[1]] = first
        found.append(hashed(padded.view(np.int64)[:, 0], SALT))
    return np.concatenate(found)


def _others(hits: Hits, asked: Ints) -> Hits:
    """The nearest ones without the texts themselves."""
    return hits.at(hits.row != asked[hits.query]).nearest(NEAREST)

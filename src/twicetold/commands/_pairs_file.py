"""A file of pairs of rows, of which a person said whether they are duplicates.

It has the columns `left` and `right`, ids or numbers of rows from 1, and `same`. Files of links have the first
two. A pair without an answer is left out.

Shape letters: P pairs.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.commands._console import tell
from twicetold.commands._dedupe_file import SAME, TextFile
from twicetold.dedupe.constraints import Constraints, Contradiction, MustLinkRefused
from twicetold.dedupe.limits import Limits
from twicetold.labels.labelling import labels_of
from twicetold.neighbours.grouping import Ints
from twicetold.normal_form import normal_form
from twicetold.printable import counted
from twicetold.tables.bad_rows import shown
from twicetold.tables.columns import MISSING, column_of
from twicetold.tables.files import open_rows

SIDES = ("left", "right")
STALE = -1


def pairs_of(
    file: str,
    texts: TextFile,
    limits: Limits | None,
    *,
    right: TextFile | None = None,
    unanswered: bool = False,
) -> tuple[tuple[Ints, Ints, Any], Ints]:
    """Return the option `pairs` of `twicetold.Model.dedupe` or `twicetold.link`, and stale rows of the file.

    An answer is stale if an id is gone, or has another text now: it is left out, and a line counts them.

    Args:
        file: its path.
        texts: whose rows the pairs are of.
        limits: of what may be linked.
        right: file with the rows on the right, if they are of another one; `limits` then count them on from the others.
        unanswered: give pairs without an answer as well.

    Raises:
        ValueError: if most answers are stale, the number of a row is unknown or has another text, an answer is none,
            or pairs contradict each other or the limits; names the lines.
    """
    with open_rows(file) as rows:
        for name in (*SIDES, SAME):
            rows.require(name)
        blocks = list(rows.blocks([]))
    answered = TextFile(rows.name, rows.format, rows.unit, blocks, [])
    answers = np.concatenate([labels_of(rows, block, SAME) for block in blocks])
    given = np.flatnonzero((answers != MISSING) | unanswered)
    both = zip(SIDES, (texts, right or texts), strict=True)
    sides = [_places(answered, side, given, rows_of, beside=f"{side}_text" in rows.columns) for side, rows_of in both]
    stale = np.any([place == STALE for place in sides], axis=0)
    _tell_stale(answered.name, texts.name, int(stale.sum()), len(given))
    left_out, given, sides = given[stale], given[~stale], [place[~stale] for place in sides]
    same = [None if answer == MISSING else answer == 1 for answer in answers[given].tolist()]
    known = answers[given] != MISSING
    given = given[known]
    before, count = (0, len(texts.texts)) if right is None else (len(texts.texts), len(texts.texts) + len(right.texts))
    try:
        ends = sides[0][known], sides[1][known] + before
        Constraints.of(count, *ends, answers[given] == 1).require_allowed(limits)
    except MustLinkRefused as error:
        raise ValueError(
            f"{rows.name}: {answered.lines(given[[error.pair]])} is to join its rows, but {error.why}"
        ) from error
    except Contradiction as error:
        joining = given[[*error.must_link]]
        why = f"{answered.lines(joining)} join{'s' * (len(joining) == 1)} its rows"
        refused = answered.lines(given[[error.cannot_link]])
        raise ValueError(
            f"{rows.name}: {refused} keeps its rows apart, but {why if len(joining) else 'both are one row'}"
        ) from error
    return (sides[0], sides[1], same), left_out


def _places(answered: TextFile, side: str, given: Ints, texts: TextFile, *, beside: bool) -> Ints:
    """Rows that one side of the pairs names; `STALE` for an id that is gone, or whose text is another one now.

    Numbers of rows that do not fit are refused, as rows that went or came move all that follow.
    """
    names = column_of(texts.names).cast(pa.string())
    asked = column_of(answered.column(side)).cast(pa.string()).take(pa.array(given))
    place = np.array(pc.fill_null(pc.index_in(asked, names), STALE).to_pylist(), np.int64)
    unknown, other = np.flatnonzero(place == STALE), np.empty(0, np.int64)
    if beside:
        noted = column_of(answered.column(f"{side}_text")).take(pa.array(given)).to_pylist()
        differ = [
            row != STALE and text is not None and _plain(text) != _plain(texts.texts[row])
            for text, row in zip(noted, place.tolist(), strict=True)
        ]
        other = np.flatnonzero(differ)
    if texts.id_column is None and len(unknown):
        what = f"expected the number of a row, 1 to {len(names):,} in {texts.name}; got"
        line = answered.lines(given[unknown[:1]])
        raise ValueError(f"{answered.name}: {line}, column {side!r}: {what} {shown(asked[int(unknown[0])].as_py())}")
    if texts.id_column is None and len(other):
        row = int(other[0])
        raise ValueError(
            f"{answered.name}: {answered.lines(given[[row]])}: the text is not that of the row in {texts.name}: got "
            f"{shown(noted[row])} for {shown(texts.texts[place[row]])}. Are the pairs of another file? Where rows come "
            "and go, name them by a column of ids (--id)"
        )
    place[other] = STALE
    return place


def _plain(text: str) -> str:
    return normal_form([" ".join(text.split())])[0]


def _tell_stale(name: str, texts: str, stale: int, count: int) -> None:
    """Count the answers that are left out; where they are most, the file is another one."""
    about = f"{stale:,} of {counted(count, 'answer')} about ids that are no longer in {texts}, or have another text now"
    if 2 * stale > count:
        raise ValueError(f"{name}: {about}. Are the pairs of another file?")
    if stale:
        tell(f"{name}: left out {about}")

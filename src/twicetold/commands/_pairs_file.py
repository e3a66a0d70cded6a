"""A file of pairs of rows, of which a person said whether they are duplicates.

It has the columns `left` and `right`, ids or numbers of rows from 1, and `same`. Files of links have the first
two. A pair without an answer is left out.

Shape letters: P pairs.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.commands._dedupe_file import SAME, TextFile
from twicetold.dedupe.constraints import Constraints, Contradiction, MustLinkRefused
from twicetold.dedupe.limits import Limits
from twicetold.labels.labelling import labels_of
from twicetold.neighbours.grouping import Ints
from twicetold.tables.bad_rows import shown
from twicetold.tables.columns import MISSING, column_of
from twicetold.tables.files import open_rows

SIDES = ("left", "right")


def pairs_of(
    file: str,
    texts: TextFile,
    limits: Limits | None,
    *,
    right: TextFile | None = None,
    unanswered: bool = False,
) -> tuple[Ints, Ints, Any]:
    """Return the option `pairs` of `twicetold.Model.dedupe`, or of `twicetold.link`.

    Args:
        file: its path.
        texts: whose rows the pairs are of.
        limits: of what may be linked.
        right: file with the rows on the right, if they are of another one; `limits` then count them on from the others.
        unanswered: give pairs without an answer as well.

    Raises:
        ValueError: if a row is unknown, an answer is none, a text is not that of its row, or pairs contradict each
            other or the limits; names the lines.
    """
    with open_rows(file) as rows:
        for name in (*SIDES, SAME):
            rows.require(name)
        blocks = list(rows.blocks([]))
    answered = TextFile(rows.name, rows.format, rows.unit, blocks, [])
    answers = np.concatenate([labels_of(rows, block, SAME) for block in blocks])
    given = np.flatnonzero((answers != MISSING) | unanswered)
    same = [None if answer == MISSING else answer == 1 for answer in answers[given].tolist()]
    sides = []
    for side, rows_of in zip(SIDES, (texts, right or texts), strict=True):
        names = column_of(rows_of.names).cast(pa.string())
        asked = column_of(answered.column(side)).cast(pa.string()).take(pa.array(given))
        place = pc.index_in(asked, names)
        unknown = np.flatnonzero(pc.is_null(place).to_numpy(zero_copy_only=False))
        if len(unknown):
            ids = rows_of.id_column
            kind = f"an id of {ids!r}" if ids else f"the number of a row, 1 to {len(names):,}"
            what = f"expected {kind} in {rows_of.name}; got {shown(asked[int(unknown[0])].as_py())}"
            raise ValueError(f"{rows.name}: {answered.lines(given[unknown[:1]])}, column {side!r}: {what}")
        sides.append(place.to_numpy(zero_copy_only=False).astype(np.int64))
        if f"{side}_text" in rows.columns:
            _check_texts(answered, f"{side}_text", given, rows_of, sides[-1])
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
    return sides[0], sides[1], same


def _check_texts(answered: TextFile, name: str, given: Ints, texts: TextFile, place: Ints) -> None:
    """Check that texts beside the names of rows are theirs: numbers of rows may be those of another file."""
    beside = column_of(answered.column(name)).take(pa.array(given))
    theirs = column_of(pa.array(texts.texts, pa.string()).take(pa.array(place)))
    plain = [pc.replace_substring_regex(each, r"\s+", " ") for each in (beside, theirs)]
    other = np.flatnonzero(pc.fill_null(pc.not_equal(*plain), False).to_numpy(zero_copy_only=False))
    if len(other):
        row = int(other[0])
        raise ValueError(
            f"{answered.name}: {answered.lines(given[[row]])}: the text is not that of the row in {texts.name}: got "
            f"{shown(beside[row].as_py())} for {shown(theirs[row].as_py())}. Are the pairs of another file?"
        )

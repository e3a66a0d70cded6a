"""Agreement of links and groups with groups that are known for some rows: the measures of `evaluate`, for any file.

Rows whose group is not known take part in no measure. All intervals have the known group as unit.

- Links are between distinct texts; a text has the group of the first of its rows whose group is known.
- Groups are of rows.

Whoever chooses a threshold by these measures must not take them for what it is worth on other files.

Shape letters: n rows, K of them with a known group, m distinct texts.
"""

from dataclasses import dataclass

import numpy as np

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.limits import require_length
from twicetold.evaluation.group_metrics import agreement_intervals, group_scores
from twicetold.evaluation.intervals import Interval, Statistic, bootstrap_interval
from twicetold.evaluation.link_metrics import link_statistics, text_precision_with_interval
from twicetold.neighbours.components import numbered
from twicetold.neighbours.grouping import Ints, Links
from twicetold.printable import counted
from twicetold.tables.columns import MISSING, Column, codes_of

RESAMPLES = 1000
MOST_CELLS = 10**8
"""Groups times known groups up to which measures of groups have intervals: these take memory for each such cell."""


@dataclass(frozen=True)
class Measured:
    """A measure with its 95 % interval; None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class GroupAgreement:
    """Links and groups beside known groups.

    Args:
        rows: K, whose group is known.
        groups: known ones of two or more rows.
        pairs: of rows of one known group.
        measures: `link_precision`, `text_precision` (the mean over linked texts), `link_recall`, `ari`, `pair_f1`,
            `b3`; without those that are undefined, such as the precision of no links.
    """

    rows: int
    groups: int
    pairs: int
    measures: dict[str, Measured]


@dataclass(frozen=True)
class KnownGroups:
    """Groups that are known for some rows.

    Args:
        rows: (K,) ascending.
        codes: (K,) group of each, from 0 without gaps.
    """

    rows: Ints
    codes: Ints

    @classmethod
    def of(cls, count: int, values: Column) -> "KnownGroups":
        """Build from a column of n values: rows of one value are of one group, and rows without a value of none.

        Raises:
            TypeError: if it is no column of plain values.
            ValueError: if it has another length, or no two rows have one value, or all have the same.
        """
        code = codes_of(values)
        require_length("truth", code, count)
        rows = np.flatnonzero(code != MISSING)
        codes = numbered(code[rows])
        number = int(codes.max(initial=-1)) + 1
        if number in (0, 1, len(rows)):
            raise ValueError(
                f"truth: expected at least two groups, and one of two or more rows, to compare with; got {number:,} "
                f"groups of {counted(len(rows), 'row')} with a value"
            )
        return cls(rows, codes)

    def agreement(self, group: Ints, links: Links, distinct: DistinctTexts) -> GroupAgreement:
        """Return all measures.

        Args:
            group: (n,) of each row.
            links: of the m distinct texts.
            distinct: the texts.
        """
        group = group[self.rows]
        scores, cells = group_scores(group, self.codes), len(np.unique(group)) * (int(self.codes.max()) + 1)
        ends = agreement_intervals(group, self.codes) if cells <= MOST_CELLS else {}
        measures = self._links(links, distinct)
        for name, value in (("ari", scores.ari), ("pair_f1", scores.f1), ("b3", scores.b3)):
            measures[name] = Measured(value, *ends.get(name, ()))
        sizes = np.bincount(self.codes)
        pairs = int((sizes * (sizes - 1) // 2).sum())
        return GroupAgreement(len(self.rows), int((sizes > 1).sum()), pairs, measures)

    def _links(self, links: Links, distinct: DistinctTexts) -> dict[str, Measured]:
        """Return precision and recall of links between distinct texts of known groups."""
        code = np.full(len(distinct), MISSING, np.int64)
        code[distinct.place[self.rows][::-1]] = self.codes[::-1]  # of several assignments the last one holds
        known = np.flatnonzero(code != MISSING)
        number = np.full(len(code), MISSING, np.int64)
        number[known] = np.arange(len(known))
        inside = links.take((code[links.left] != MISSING) & (code[links.right] != MISSING))
        inside = Links(len(known), number[inside.left], number[inside.right], inside.similarity)
        codes = numbered(code[known])
        groups = int(codes.max()) + 1
        measures = {}
        for name, statistic in zip(("link_precision", "link_recall"), link_statistics(codes, inside), strict=True):
            value = float(statistic(np.ones((1, groups)))[0])
            if not np.isnan(value):
                measures[name] = Measured(value, *_bootstrapped(statistic, groups))
        by_text, ends = text_precision_with_interval(codes, inside)
        if ends:
            measures["text_precision"] = Measured(by_text, *ends)
        order = ("link_precision", "text_precision", "link_recall")
        return {name: measures[name] for name in order if name in measures}


def _bootstrapped(statistic: Statistic, groups: int) -> Interval | tuple[()]:
    """Return the interval of a statistic; none if there are too few pairs for one."""
    try:
        return bootstrap_interval(statistic, groups, resamples=RESAMPLES)
    except ValueError:
        return ()

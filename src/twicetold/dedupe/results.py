"""Results of a dedupe: groups, links and their summary.

Shape letters: n texts, m distinct texts, L links, G groups of two or more texts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from twicetold.dedupe.limits import require_length
from twicetold.dedupe.link_threshold import ExpectedPrecision, LinkThreshold
from twicetold.neighbours.grouping import NO_LINK, Floats, Ints
from twicetold.printable import counted

if TYPE_CHECKING:
    from twicetold.dedupe.agreement import GroupAgreement
    from twicetold.dedupe.html_table import HtmlTable, ShownGroup

PROBABILITY = "probability_to_representative"
ADDED = ("group", "representative", PROBABILITY)
"""Columns that a dedupe adds to rows."""
FLAT = {
    **{name: f"counts.{name}" for name in ("texts", "distinct", "links", "groups", "grouped", "largest")},
    "rule": "threshold.rule",
    "threshold": "threshold.probability",
    "threshold_score": "threshold.score",
    "unfinished": "counts.unfinished",
    "approximate": "counts.approximate",
    **{name: f"threshold.{name}" for name in ("evidence", "calibrated", "labelled_pairs")},
    "warnings": "warnings",
    "precision": "threshold.precision",
    "expected_precision": "threshold.expected.value",
    "lower_bound": "threshold.lower_bound",
    "promised": "threshold.guaranteed",
    "assured": "threshold.assured",
    "alone": "counts.alone",
    "wide": "counts.wide",
    "expected_low": "threshold.expected.low",
    "expected_high": "threshold.expected.high",
    "chosen_for": "threshold.chosen_for",
}
"""Names in the JSON of a summary, which is flat, and the attributes that have their values."""


@dataclass(frozen=True)
class TextLinks:
    """Pairs of distinct texts whose similarity reaches the threshold, or that a person said to be the same.

    Args:
        left: (L,) row of the first text like the one.
        right: (L,) row of the first text like the other, which comes later.
        score: (L,) of the model.
        probability: (L,) that both are duplicates; see `LinkThreshold.calibrated`.
    """

    left: Ints
    right: Ints
    score: Floats
    probability: Floats

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class GroupsOfTexts:
    """Groups of two or more texts.

    Args:
        group: (G,) number, ascending.
        size: (G,) texts.
        distinct: (G,) distinct texts.
        density: (G,) share of the pairs of distinct texts that are links; 1 for a single one.
        weakest: (G,) position in the links of the one without which the group, held by its strongest links, falls
            apart; `NO_LINK` for a single distinct text.
    """

    group: Ints
    size: Ints
    distinct: Ints
    density: Floats
    weakest: Ints

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True)
class DedupeCounts:
    """Numbers of texts, links and groups.

    Args:
        texts: n.
        distinct: m; texts that are equal are one, if they are also equal in the columns of `same` and `within`.
        links: pairs of distinct texts that reach the threshold.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
        unfinished: distinct texts that may have more links than were looked for.
        approximate: whether an approximate index was searched, which may miss links.
        alone: texts that are linked with none, because they have no value in a column of `same` or `within`.
        wide: groups that span more than a window of `within`.
    """

    texts: int
    distinct: int
    links: int = 0
    groups: int = 0
    grouped: int = 0
    largest: int = 1
    unfinished: int = 0
    approximate: bool = False
    alone: int = 0
    wide: int = 0


@dataclass(frozen=True)
class DedupeSummary:
    """A dedupe in numbers.

    Args:
        counts: of texts, links and groups.
        threshold: of links, with what is known of it.
        warnings: what a person should know before rows are dropped: drift from the texts that the model was trained
            on, and what `twicetold.dedupe.caution` finds in the groups.
        agreement: with groups that are known, if some are.
    """

    counts: DedupeCounts
    threshold: LinkThreshold
    warnings: tuple[str, ...] = ()
    agreement: "GroupAgreement | None" = None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by their names in JSON (`FLAT`), without the agreement."""
        values = {name: attrgetter(path)(self) for name, path in FLAT.items()}
        guaranteed = self.threshold.guaranteed
        return {**values, "promised": None if guaranteed is None else asdict(guaranteed)}


@dataclass(frozen=True)
class TextGroups:
    """Groups of duplicates. A notebook shows them as a table, the doubtful first.

    Args:
        group: (n,) group of each text, numbered by its first one; a text without duplicates is a group of its own.
        representative: (n,) row of the text that stands for the group.
        probability: (n,) that a text says the same as its representative; 1 for itself and its exact duplicates. See
            `LinkThreshold.calibrated`.
        exact: (n,) row of the first text that is equal in its normal form, except for white space.
        links: between distinct texts.
        table: of the groups of two or more texts.
        summary: in numbers.
        texts: n of them, as they are shown: with the values of further columns (`also`), if there are some.
        why: from positions of links to what they rest on, where the generic matcher scored them.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> found = twicetold.fit(texts, lexical=True).dedupe(texts)  # TextGroups
        >>> [texts[row] for row in found.kept()]
        ['How do I learn to swim?', 'Where can I buy a tent?']
        >>> found.links  # TextLinks
        TextLinks(left=array([0]), right=array([1]), ...)
        >>> found.doubtful_first()
        array([0])
        >>> found.html().fragment().count("<del>?</del>")  # a table, as a notebook shows it
        1
        >>> found.table  # GroupsOfTexts
        GroupsOfTexts(group=array([0]), size=array([2]), ...)
        >>> found.summary  # DedupeSummary
        DedupeSummary(counts=DedupeCounts(texts=3, distinct=3, links=1, groups=1, grouped=2, ...)
        >>> found.summary.threshold  # LinkThreshold
        LinkThreshold(score=0.0, probability=0.5, rule='average', chosen_for='matcher', ...)
        >>> found.summary.threshold.sentences()  # what labels say of its precision: there are none
        []
        >>> found.summary.to_json()["largest"]
        2
    """

    group: Ints
    representative: Ints
    probability: Floats
    exact: Ints
    links: TextLinks
    table: GroupsOfTexts
    summary: DedupeSummary
    texts: Sequence[str] = field(repr=False, compare=False)
    why: Callable[[Ints], list[str]] | None = field(default=None, repr=False, compare=False)

    def kept(self) -> Ints:
        """Return (groups,) rows of the representatives, ascending: the texts left when duplicates are dropped."""
        return np.flatnonzero(self.representative == np.arange(len(self.representative)))

    def doubtful_first(self) -> Ints:
        """Return (G,) positions in the table: first groups that the weakest links hold together, equal texts last."""
        score, held = np.full(len(self.table), np.inf), self.table.weakest != NO_LINK
        score[held] = self.links.score[self.table.weakest[held]]
        return np.lexsort((-self.table.size, score))

    def html(self, names: Sequence[Any] | None = None) -> "HtmlTable":
        """Return the groups as a table that marks what differs from the representative; `write` makes a page of it.

        Args:
            names: n ids or numbers; None: numbers of rows, from 0.
        """
        from twicetold.dedupe.html_table import HtmlTable

        if names is not None:
            require_length("names", names, len(self.texts))
        counts = self.summary.counts
        about = (
            f"{counted(counts.groups, 'group')} of {counted(counts.grouped, 'text')} among {counts.texts:,} "
            f"(links of probability ≥ {self.summary.threshold.probability:.3g})."
        )
        shown = self._shown(range(len(self.texts)) if names is None else names)
        return HtmlTable("group", (about, *self.summary.warnings), len(self.table), shown)

    def _repr_html_(self) -> str:
        return self.html().fragment()

    def _shown(self, names: Sequence[Any]) -> "Iterator[ShownGroup]":
        from twicetold.dedupe.html_table import Member, ShownGroup

        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group, self.table.group, sorter=order)
        for position in self.doubtful_first().tolist():
            rows = order[starts[position] : starts[position] + self.table.size[position]]
            first = int(self.representative[rows[0]])
            rank = np.lexsort((self.probability[rows], self.exact[rows] != self.exact[first], rows != first))
            equal: dict[int, list[int]] = {}
            for row in rows[rank].tolist():
                equal.setdefault(int(self.exact[row]), []).append(row)
            members = [
                Member(
                    [names[row] for row in same],
                    self.texts[same[0]],
                    None if same[0] == first else float(self.probability[same[0]]),
                )
                for same in equal.values()
            ]
            heading = f"group {self.table.group[position]}: {counted(len(rows), 'text')}"
            if (weakest := int(self.table.weakest[position])) != NO_LINK:
                heading += f", weakest link {self.links.probability[weakest]:.3f}"
                heading += "" if self.why is None else f" ({self.why(np.array([weakest]))[0]})"
            yield ShownGroup(members, heading)


def summary_from_json(content: Mapping[str, Any]) -> DedupeSummary:
    """Return a summary from what its `to_json` gave."""
    from twicetold.evaluation.guarantee import GuaranteedPrecision

    parts: dict[str, dict[str, Any]] = {"": {}, "counts": {}, "threshold": {}, "threshold.expected": {}}
    for name, path in FLAT.items():
        place, _, field = path.rpartition(".")
        parts[place][field] = content[name]
    guaranteed = parts["threshold"].pop("guaranteed")
    threshold = LinkThreshold(
        **parts["threshold"],
        guaranteed=None if guaranteed is None else GuaranteedPrecision(**guaranteed),
        expected=ExpectedPrecision(**parts["threshold.expected"]),
    )
    return DedupeSummary(DedupeCounts(**parts["counts"]), threshold, tuple(parts[""]["warnings"]))

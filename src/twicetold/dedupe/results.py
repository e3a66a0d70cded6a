"""What a dedupe finds.

Shape letters: n texts, m distinct texts, L links, G groups of two or more texts.
"""

from dataclasses import dataclass

import numpy as np

from twicetold.dedupe.agreement import GroupAgreement
from twicetold.dedupe.thresholds import ChosenFor, LinkThreshold, Thresholds
from twicetold.evaluation.guarantee import GuaranteedPrecision
from twicetold.neighbours.grouping import Floats, Ints
from twicetold.neighbours.rules import Rule


@dataclass(frozen=True)
class TextLinks:
    """Pairs of distinct texts whose similarity reaches the threshold, or that a person said to be the same.

    Args:
        left: (L,) row of the first text like the one.
        right: (L,) row of the first text like the other, which comes later.
        score: (L,) of the model.
        probability: (L,) that both say the same; see `DedupeSummary.calibrated`.
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
class DedupeSummary:
    """What was done, in numbers.

    Args:
        texts: n.
        distinct: m; texts that are equal are one, if they are also equal in the columns of `same` and `within`.
        links: pairs of distinct texts that reach the threshold.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
        rule: how links make groups.
        threshold: score from which a pair is a link.
        probability: the same as a probability.
        unfinished: distinct texts that may have more links than were looked for.
        approximate: whether an approximate index was searched, which may miss links.
        evidence: what the threshold and the probabilities rest on, in words.
        calibrated: whether probabilities are; of a model that nobody calibrated, similarities stand in their place.
        labelled_pairs: whether they come from labelled pairs, among which duplicates are more frequent than among all
            pairs of a file.
        warnings: what a person should know before rows are dropped: ways in which the texts are unlike those that the
            model was trained on, that they show no threshold, and what `twicetold.dedupe.caution` finds in the groups.
        covered: where they come from pairs that were drawn from the nearest ones of a file, the share of links that
            are among as many nearest ones of a text; the labels say nothing about the others. Else None.
        precision: of links at the threshold, on this evidence; None if not measured.
        expected_precision: the same, carried over to this number of texts, see `evaluation.guarantee.carried_over`. By
            labels it is corrected for the choice of the threshold on them, and known without a precision, too.
        expected_low: lower end of its 95 % interval; None if it is not by labels.
        expected_high: upper end.
        lower_bound: whether these precisions are lower bounds, because not every duplicate of validation is labelled.
        promised: what is expected of the links in a file of so many texts, by pair and by text, and what nine of ten
            such files keep at least; None if it is not known.
        assured: whether the precision that was asked for is kept by nine of ten files, not only where it was measured;
            by labels, whether the whole interval reaches it.
        alone: texts that are linked with none, because they have no value in a column of `same` or `within`.
        wide: groups that span more than a window of `within`.
        chosen_for: what the threshold is the best of.
    """

    texts: int
    distinct: int
    links: int
    groups: int
    grouped: int
    largest: int
    rule: Rule
    threshold: float
    probability: float
    unfinished: int
    approximate: bool
    evidence: str = ""
    calibrated: bool = True
    labelled_pairs: bool = True
    warnings: tuple[str, ...] = ()
    covered: float | None = None
    precision: float | None = None
    expected_precision: float | None = None
    lower_bound: bool = False
    promised: GuaranteedPrecision | None = None
    assured: bool = False
    alone: int = 0
    wide: int = 0
    expected_low: float | None = None
    expected_high: float | None = None
    chosen_for: ChosenFor = "pairs"


@dataclass(frozen=True)
class TextGroups:
    """Groups of texts that say the same.

    Args:
        group: (n,) group of each text, numbered by its first one; a text without duplicates is a group of its own.
        representative: (n,) row of the text that stands for the group.
        probability: (n,) that a text says the same as its representative; 1 for itself and its exact duplicates. See
            `DedupeSummary.calibrated`.
        exact: (n,) row of the first text that is equal in its normal form, but for white space.
        links: between distinct texts.
        table: of the groups of two or more texts.
        summary: in numbers.
        review: the pairs nearest to the threshold on both sides, if they were asked for; the nearest first.
        agreement: with groups that are known, if some are.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> found = twicetold.fit(texts, lexical=True).dedupe(texts)  # TextGroups
        >>> [texts[row] for row in found.kept()]
        ['How do I learn to swim?', 'Where can I buy a tent?']
        >>> found.links  # TextLinks
        TextLinks(left=array([0]), right=array([1]), ...)
        >>> found.table  # GroupsOfTexts
        GroupsOfTexts(group=array([0]), size=array([2]), ...)
        >>> found.summary  # DedupeSummary
        DedupeSummary(texts=3, distinct=3, links=1, groups=1, grouped=2, ...)
    """

    group: Ints
    representative: Ints
    probability: Floats
    exact: Ints
    links: TextLinks
    table: GroupsOfTexts
    summary: DedupeSummary
    review: TextLinks | None = None
    agreement: GroupAgreement | None = None

    def kept(self) -> Ints:
        """(groups,) rows of the representatives, ascending: the texts that are left when duplicates are dropped."""
        return np.flatnonzero(self.representative == np.arange(len(self.representative)))


def summary_of_links(
    texts: int, distinct: int, rule: Rule, thresholds: Thresholds, link: LinkThreshold, *, probability: float
) -> DedupeSummary:
    """What is known before groups are: the threshold among so many texts, and what it rests on.

    Args:
        texts: n.
        distinct: m.
        rule: how links make groups.
        thresholds: what is known of links.
        link: the threshold.
        probability: of a pair at the threshold.
    """
    return DedupeSummary(
        texts=texts,
        distinct=distinct,
        links=0,
        groups=0,
        grouped=0,
        largest=1,
        rule=rule,
        threshold=link.score,
        chosen_for=link.chosen_for,
        probability=probability,
        unfinished=0,
        approximate=False,
        evidence=thresholds.evidence,
        calibrated=not thresholds.guessed,
        labelled_pairs=thresholds.known is None and not thresholds.guessed,
        precision=link.precision,
        expected_precision=thresholds.expected_precision(link, distinct),
        expected_low=None if link.expected is None else link.expected.low,
        expected_high=None if link.expected is None else link.expected.high,
        lower_bound=thresholds.is_lower_bound(link),
        promised=link.guaranteed,
        assured=link.assured,
    )

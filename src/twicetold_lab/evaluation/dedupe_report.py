"""Quality of the ranking, the links and the groups of a dedupe, on test.

By text: average precision (`text_ranking`), by which models are compared, and B-cubed of the groups. By pair: average
precision, precision and recall of the links, ARI of the groups. Thresholds are those that `dedupe` chose on validation.
All have intervals whose unit is the group.

The intervals (Efron 1979, percentiles) draw whole groups. A group that is drawn twice is two groups, whose texts are in
no pair with each other.

Shape letters: M documents, G groups, R resamples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from twicetold.evaluation.all_pairs import BINS, pair_histograms
from twicetold.evaluation.group_metrics import GroupScores, agreement_intervals, group_scores, without_each
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import Interval, bootstrap_interval
from twicetold.evaluation.link_metrics import link_statistics, links_above, text_precision_with_interval, with_known
from twicetold.evaluation.thresholds import DedupeThresholds
from twicetold.neighbours.grouping import merge
from twicetold.neighbours.rules import Rule
from twicetold_lab.evaluation.comparisons import TEXT_RANKING
from twicetold_lab.evaluation.influence import all_pairs_intervals, all_pairs_units
from twicetold_lab.evaluation.text_ranking import TextRanking, rank_texts
from twicetold_lab.evaluation.units import PairedUnits, Units

COMPARED: Rule = "average"
"""The rule of grouping by whose B-cubed models are compared in pairs."""
LINKS = ("precision", "recall", "text_precision")
"""Measures of `LinksOnTest`."""


@dataclass(frozen=True)
class LinksOnTest:
    """Links at the threshold for an aimed precision, on test.

    Args:
        aimed: the precision.
        promised: precision on validation.
        precision: on test, NaN if there are no links.
        recall: on test.
        text_precision: mean over the linked texts of test of the share of a text's links that is right. Pairs count a
            large group by the square of its size, this by its size.
        intervals: "precision", "recall", "text_precision", and "ari" of the components -> 95 % interval.
        components: agreement of the connected components of these links with the true groups.
    """

    aimed: float
    promised: float
    precision: float
    recall: float
    text_precision: float
    intervals: Mapping[str, Interval]
    components: GroupScores


@dataclass(frozen=True)
class Ranked:
    """Quality of the ranking of all pairs of test by similarity."""

    auroc: float
    average_precision: float
    average_precision_interval: Interval


@dataclass(frozen=True)
class DedupeReport:
    """Results on test.

    Args:
        chosen: on validation.
        texts: split -> ranking of all others for each text.
        ranked: over all pairs; None if it was not asked for.
        links: for each aimed precision that validation reached.
        groups: rule -> agreement of its groups, at its threshold, with the true ones.
        agreement: rule -> "ari", "b3", "pair_f1" of these groups -> 95 % interval.
        units: test metric -> what a comparison of two models in pairs needs.
    """

    chosen: DedupeThresholds
    texts: Mapping[str, TextRanking]
    ranked: Ranked | None
    links: tuple[LinksOnTest, ...]
    groups: Mapping[Rule, GroupScores]
    agreement: Mapping[Rule, Mapping[str, Interval]]
    units: Mapping[str, PairedUnits] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Split ("val", "test") -> metric -> value.

        `link_precision_at_90` of val is what the threshold for 0.9 promises, or the highest precision if that is less;
        of test it is what was kept, and missing where there was no threshold or no link.
        """
        chosen, auroc, average = self.chosen, f"auroc_{self.chosen.group}", f"average_precision_{self.chosen.group}"
        val = {auroc: chosen.auroc, average: chosen.average_precision}
        for each in chosen.links:
            val |= {_at("precision", each.aimed): each.precision, _at("recall", each.aimed): each.recall}
        val |= {f"ari_{each.rule}": each.ari for each in chosen.grouping}
        test = {auroc: self.ranked.auroc, average: self.ranked.average_precision} if self.ranked else {}
        for kept in self.links:
            if "precision" in kept.intervals:
                test |= {_at(name, kept.aimed): getattr(kept, name) for name in LINKS}
            test[_at("ari", kept.aimed)] = kept.components.ari
        for rule, scores in self.groups.items():
            test |= {f"ari_{rule}": scores.ari, f"b3_{rule}": scores.b3, f"pair_f1_{rule}": scores.f1}
        found = {"val": val, "test": test}
        for split, ranking in self.texts.items():
            found[split][f"{TEXT_RANKING}{chosen.group}"] = ranking.mean
        return found

    @property
    def intervals(self) -> dict[str, dict[str, Interval]]:
        """Split, which is "test" alone -> metric -> 95 % interval."""
        average = f"average_precision_{self.chosen.group}"
        found = {average: self.ranked.average_precision_interval} if self.ranked else {}
        found[f"{TEXT_RANKING}{self.chosen.group}"] = self.texts["test"].interval
        for kept in self.links:
            found |= {_at(name, kept.aimed): ends for name, ends in kept.intervals.items()}
        for rule, ends in self.agreement.items():
            found |= {f"{measure}_{rule}": each for measure, each in ends.items()}
        return {"test": found}


def _at(measure: str, aimed: float) -> str:
    return f"link_{measure}_at_{100 * aimed:g}"


def report(
    test: DocumentVectors,
    chosen: DedupeThresholds,
    *,
    val: DocumentVectors | None = None,
    ranked: bool = True,
    bins: int = BINS,
    resamples: int = 1000,
    seed: int = 0,
) -> DedupeReport:
    """Evaluate on test what was chosen on validation.

    Args:
        test: documents of test.
        chosen: by `choose`.
        val: documents of validation, whose ranking is measured as well.
        ranked: whether AUROC and average precision over all pairs are asked for.
        bins: steps of the score range.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: if no pair, or every pair, shares a group.
    """
    known = with_known(test, chosen.group)
    codes = known.groups[chosen.group]
    reached = [each.threshold for each in chosen.links if each.threshold is not None]
    floor = min([*reached, *(each.threshold for each in chosen.grouping)])
    links = links_above(known, floor)
    kept = []
    for each in chosen.links:
        if each.threshold is not None:
            strong = links.at_least(each.threshold)
            groups = merge(strong, rule="components", threshold=each.threshold).cut(each.threshold)
            statistics = link_statistics(codes, strong)
            total = len(np.unique(codes))
            intervals = {
                name: bootstrap_interval(statistic, total, resamples=resamples, seed=seed)
                for name, statistic in zip(("precision", "recall"), statistics, strict=True)
                if len(strong)
            }
            precision, recall = (float(statistic(np.ones((1, total)))[0]) for statistic in statistics)
            of_texts, ends = text_precision_with_interval(codes, strong)
            if ends:
                intervals["text_precision"] = ends
            agreed = agreement_intervals(groups, codes)
            kept.append(
                LinksOnTest(
                    aimed=each.aimed,
                    promised=each.precision,
                    precision=precision,
                    recall=recall,
                    text_precision=of_texts,
                    intervals=intervals | {"ari": agreed["ari"]},
                    components=group_scores(groups, codes),
                )
            )
    scores, agreement = {}, {}
    units: dict[str, PairedUnits] = {}
    for cut in chosen.grouping:
        found = merge(links, rule=cut.rule, threshold=cut.threshold, vectors=(known.left, known.right))
        groups = found.cut(cut.threshold)
        scores[cut.rule] = group_scores(groups, codes)
        agreement[cut.rule] = agreement_intervals(groups, codes)
        if cut.rule == COMPARED:
            units[f"b3_{cut.rule}"] = Units.of_left_out(without_each(groups, codes)[1], codes)
    ranking = rank_pairs(known, chosen.group, bins) if ranked else None
    splits = {"test": known} if val is None else {"val": val, "test": known}
    texts = {split: rank_texts(vectors, chosen.group) for split, vectors in splits.items()}
    units[f"{TEXT_RANKING}{chosen.group}"] = texts["test"].units
    return DedupeReport(chosen, texts, ranking, tuple(kept), scores, agreement, units)


def rank_pairs(vectors: DocumentVectors, group: str, bins: int = BINS) -> Ranked:
    """Measure the ranking of all pairs by similarity, those of one group being duplicates."""
    histograms = pair_histograms(vectors, bins=bins)
    units = all_pairs_units(vectors, histograms, clusters=vectors.groups[group])
    interval = all_pairs_intervals(histograms, units)[group]["average_precision"]
    counts = histograms[group].counts()
    return Ranked(counts.auroc(), counts.average_precision(), interval)

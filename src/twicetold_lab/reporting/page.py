"""The report as one self-contained HTML page: no external resources, inline figures, a few lines of script.

The markup is in `templates/page.html.j2`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from twicetold_lab.reporting import (
    checked,
    choice,
    cost,
    dedupe,
    elsewhere,
    errors,
    fair,
    false_negatives,
    operating_points,
    panels,
    provenance,
    published,
    reading,
    reliability,
    samples,
    search_vectors,
    slices,
    tiers,
    topics,
    twin_groups,
    wrong_groups,
)
from twicetold_lab.reporting.dedupe import DedupeTable
from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.leaderboard import Leaderboard, Row
from twicetold_lab.reporting.rendering import render
from twicetold_lab.reporting.studies import Study
from twicetold_lab.runs.records import Abroad, KnnCurves, Peer, Provenance, read_knn_curves

_PARTS = (
    checked,
    choice,
    cost,
    dedupe,
    elsewhere,
    errors,
    fair,
    false_negatives,
    operating_points,
    panels,
    provenance,
    published,
    reading,
    samples,
    search_vectors,
    slices,
    tiers,
    topics,
    twin_groups,
    wrong_groups,
)
"""Modules whose functions and texts the templates use, by their names."""


@dataclass(frozen=True)
class Section:
    """One dataset: its description, its leaderboard, the peers of a dedupe, and mistakes or why there are none."""

    about: Provenance
    board: Leaderboard
    peers: Sequence[Peer] = ()
    on_terms: Sequence[fair.FairTable] = ()
    mistakes: errors.Judged | str | None = None
    wrong: Sequence[wrong_groups.GroupMistakes] = ()
    costs: cost.Costs | None = None
    grid: choice.Grid = field(default_factory=choice.Grid)
    elsewhere: Sequence[Abroad] = ()

    @cached_property
    def answers(self) -> tuple[choice.Answer, ...]:
        """What to take for each use."""
        return choice.answers(self.board, self.tiers, grid=self.grid, elsewhere=self.elsewhere)

    @cached_property
    def tiers(self) -> tuple[tiers.Tiers, ...]:
        """Who is tied for first, for each use and for the groups of a dedupe."""
        return tiers.all_tiers(self.board, self.about.kind)

    @property
    def points(self) -> tuple[DedupeTable | None, DedupeTable | None]:
        """Operating points of the models that are named for decisions about pairs, and of the others."""
        named = self.answers[0].named if self.answers else ()
        others = [row for row in self.board.rows if not any(row is one for one in named)]
        return operating_points.points_table(named), operating_points.points_table(others)

    @property
    def anchor(self) -> str:
        """Where links to it lead."""
        return f"data-{self.about.name}".replace(" ", "-")

    @cached_property
    def drawn(self) -> cost.Drawn | None:
        """Quality against speed, where speeds were measured."""
        return cost.drawn(self.board)

    @cached_property
    def deduped(self) -> dedupe.Deduped | None:
        """How far a dedupe by each model can be trusted."""
        return dedupe.deduped(self.board, self.about.kind, self.peers)

    @cached_property
    def reliabilities(self) -> list[reliability.Reliability]:
        """Of the probabilities of labelled pairs."""
        return reliability.reliabilities(self.board.rows) if self.about.kind == "labelled_pairs" else []

    @property
    def searched(self) -> dict[str, float | None]:
        """Metric of search in the whole corpus -> its highest value."""
        return search_vectors.searched(self.board)

    @property
    def measured_knn(self) -> list[tuple[Row, KnnCurves]]:
        """Models with the rates of the pairwise k-NN rule on validation."""
        found = ((row, read_knn_curves(row.first)) for row in self.board.rows)
        return [(row, curves["val"]) for row, curves in found if "val" in curves]


def page(
    sections: Sequence[Section],
    matrices: elsewhere.Matrices | None = None,
    by_topic: Sequence[topics.TopicSection] = (),
    studied: Sequence[Study] = (),
) -> str:
    """The whole report.

    Args:
        sections: of the datasets.
        matrices: of models on other data.
        by_topic: of topics and related articles.
        studied: of questions that trainings beside the grid answer.
    """
    rows = [row for section in sections for row in section.board.rows]
    models = _by_role(rows)
    names = [name for section in sections for name in section.board.metrics]
    names += [name for section in sections if section.deduped for name in section.deduped.metrics]
    names += ["mined_false_negative_rate"] if any(section.about.mined for section in sections) else []
    entries = dict.fromkeys(describe(name).entry for name in names)
    return render(
        "page.html.j2",
        sections=sections,
        matrices=matrices,
        by_topic=by_topic,
        studied=studied,
        models=models,
        at_a_glance=tiers.glance([(each.about.name, [a.tiers for a in each.answers]) for each in sections]),
        how_to_glance=tiers.HOW_TO_READ,
        tied_mark=tiers.TIED,
        runs=sum(len(row.runs) for row in rows),
        colours={model: colour for colour, model in enumerate(models)},
        explains_dedupe=next((section for section in sections if section.deduped), None),
        several_seeds=any(len(row.runs) > 1 for row in rows),
        observed=any(section.costs for section in sections),
        explained=[metric for metric in map(describe, entries) if metric.meaning],
        **{part.__name__.rpartition(".")[2]: part for part in _PARTS},
    )


def _by_role(rows: Sequence[Row]) -> list[str]:
    """All models, the trained ones first, then by name: the order of columns and colours on the page."""
    baselines = {row.model for row in rows if row.first.is_baseline}
    return sorted({row.model for row in rows}, key=lambda model: (model in baselines, model))

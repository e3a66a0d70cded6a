"""The report as one self-contained HTML page: no external resources, inline figures, a few lines of script.

The markup is in `templates/page.html.j2`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from twicetold.reporting import (
    comparison,
    dedupe,
    elsewhere,
    fair,
    false_negatives,
    panels,
    provenance,
    published,
    samples,
    word_hashing,
)
from twicetold.reporting.glossary import describe
from twicetold.reporting.leaderboard import Leaderboard, Row
from twicetold.reporting.rendering import render
from twicetold.runs.records import KnnCurves, Peer, Provenance, read_knn_curves

_SEARCH = ("retrieval_recall_at", "retrieval_mrr_at", "retrieval_ndcg_at", "index_recall_at", "index_agreement_at")
_PARTS = (dedupe, elsewhere, fair, false_negatives, panels, provenance, published, samples, word_hashing)
"""Modules whose functions and texts the templates use, by their names."""


@dataclass(frozen=True)
class Section:
    """One dataset: its description, its leaderboard and the peers of a dedupe."""

    about: Provenance
    board: Leaderboard
    peers: Sequence[Peer] = ()
    on_terms: Sequence[fair.FairTable] = ()

    @property
    def anchor(self) -> str:
        """Where links to it lead."""
        return f"data-{self.about.name}".replace(" ", "-")

    @cached_property
    def deduped(self) -> dedupe.Deduped | None:
        """How far a dedupe by each model can be trusted."""
        return dedupe.deduped(self.board, self.about.kind, self.peers)

    @cached_property
    def reliabilities(self) -> list[comparison.Reliability]:
        """Of the probabilities of labelled pairs."""
        return comparison.reliabilities(self.board.rows) if self.about.kind == "labelled_pairs" else []

    @property
    def comparisons(self) -> list[comparison.Comparison]:
        """The best model against each other one on the same labelled pairs."""
        return comparison.compare(self.board) if self.about.kind == "labelled_pairs" else []

    @property
    def searched(self) -> dict[str, float | None]:
        """Metric of search in the whole corpus -> its highest value, by kind of metric and rank."""
        names = sorted(self.board.metrics, key=_rank)
        return {name: self.board.top(name) for stem in _SEARCH for name in names if describe(name).stem == stem}

    @property
    def has_index(self) -> bool:
        """Whether an approximate index was measured."""
        return any(describe(name).stem == "index_recall_at" for name in self.searched)

    @property
    def measured_knn(self) -> list[tuple[Row, KnnCurves]]:
        """Models with the rates of the pairwise k-NN rule on validation."""
        found = ((row, read_knn_curves(row.first)) for row in self.board.rows)
        return [(row, curves["val"]) for row, curves in found if "val" in curves]


def page(sections: Sequence[Section], matrices: elsewhere.Matrices | None = None) -> str:
    """The whole report.

    Args:
        sections: of the datasets.
        matrices: of models on other data.
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
        models=models,
        runs=sum(len(row.runs) for row in rows),
        colours={model: colour for colour, model in enumerate(models)},
        explains_dedupe=next((section for section in sections if section.deduped), None),
        several_seeds=any(len(row.runs) > 1 for row in rows),
        observed=any(row.train_seconds is not None for row in rows),
        explained=[metric for metric in map(describe, entries) if metric.meaning],
        **{part.__name__.rpartition(".")[2]: part for part in _PARTS},
    )


def _by_role(rows: Sequence[Row]) -> list[str]:
    """All models, the trained ones first, then by name: the order of columns and colours on the page."""
    baselines = {row.model for row in rows if row.first.is_baseline}
    return sorted({row.model for row in rows}, key=lambda model: (model in baselines, model))


def _rank(name: str) -> int:
    rank = name.rpartition("_")[2]
    return int(rank) if rank.isdigit() else 0

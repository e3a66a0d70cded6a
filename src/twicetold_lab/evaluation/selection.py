"""Selection on validation by the primary metric: of a training's epoch, of an ensemble.

What is decided on validation afterwards, thresholds and calibrations, is in `decisions`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from twicetold.evaluation.all_pairs import BINS, OVER_PAIRS, pair_counts
from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs
from twicetold.evaluation.ranking import ScoreCounts, pearson, spearman

OF_CORPUS = "average_precision_cluster"
"""Primary metric of labelled pairs over all pairs of their texts, most of which have no label, as in a dedupe."""
PRIMARY = {"documents": "auroc_category", "labelled_pairs": "auroc", "graded_pairs": "pearson"}


@dataclass(frozen=True)
class Selection:
    """Selects on validation.

    Args:
        primary: kind of data -> primary metric. Documents with a single group use that group.
        bins: steps of the score range in all-pairs metrics.
        classes: groups that are classes to predict, so that their texts are no duplicates.

    Raises:
        ValueError: if a kind of data does not have its primary metric.
    """

    primary: Mapping[str, str] = field(default_factory=lambda: dict(PRIMARY))
    bins: int = BINS
    classes: Sequence[str] = ("category",)

    def __post_init__(self) -> None:
        expected = {
            "documents": OVER_PAIRS,
            "labelled_pairs": ("auroc", OF_CORPUS),
            "graded_pairs": ("pearson", "spearman"),
        }
        for kind, metrics in expected.items():
            name = self.primary.get(kind, "missing")
            if not (name.startswith(metrics) if kind == "documents" else name in metrics):
                raise ValueError(
                    f"primary.{kind} must be one of {metrics} (of documents, followed by a group's name), got {name!r}"
                )

    def over_all_pairs(self, kind: str) -> bool:
        """Return true if the primary metric is over all pairs of texts, and so is computed from their vectors."""
        return kind == "documents" or self.primary[kind] == OF_CORPUS

    def primary_value(self, kind: str, val: DocumentVectors | ScoredPairs) -> tuple[str, float]:
        """Name and value of the primary metric, which is computed after every epoch.

        Raises:
            ValueError: if the metric is undefined on `val`, or `kind` is unknown or does not fit it.
        """
        match kind, val:
            case "documents", DocumentVectors():
                group = self.primary_group(val)
                one = DocumentVectors(val.left, val.right, {group: val.groups[group]})
                counts = pair_counts(one, bins=self.bins)[group]
                if self.primary[kind].startswith("auroc_"):
                    return f"auroc_{group}", counts.auroc()
                return f"average_precision_{group}", counts.average_precision()
            case "labelled_pairs", DocumentVectors() if self.over_all_pairs(kind):
                return OF_CORPUS, pair_counts(val, bins=self.bins)["cluster"].average_precision()
            case "labelled_pairs", ScoredPairs() if not self.over_all_pairs(kind):
                return self.primary[kind], ScoreCounts.of(val.score, val.label).auroc()
            case "graded_pairs", ScoredPairs():
                correlation = {"pearson": pearson, "spearman": spearman}[self.primary[kind]]
                return self.primary[kind], correlation(val.score, val.label)
        raise ValueError(misfit(kind, val))

    def primary_group(self, vectors: DocumentVectors) -> str:
        """Return the group of documents of the primary metric.

        Raises:
            ValueError: if the documents have several groups, and none is of that name.
        """
        wanted = self.primary["documents"]
        for metric in OVER_PAIRS:
            wanted = wanted.removeprefix(metric)
        if wanted in vectors.groups:
            return wanted
        if len(vectors.groups) == 1:
            return next(iter(vectors.groups))
        raise ValueError(f"evaluator.primary.documents names {wanted!r}, but the groups are {sorted(vectors.groups)}")


def misfit(kind: str, inputs: object) -> str:
    """Return error message for inputs that do not fit the kind of data."""
    return (
        f"kind {kind!r} does not go with {type(inputs).__name__}; kinds are {sorted(PRIMARY)}, "
        "and graded pairs need a positive grade"
    )

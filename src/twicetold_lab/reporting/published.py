"""Published results on the same datasets, shown beside ours; the numbers are in `published.toml`.

They are not directly comparable: training data, word vectors and, where a paper does not state them, splits differ.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twicetold_lab.reporting.leaderboard import Leaderboard


@dataclass(frozen=True)
class PublishedResult:
    """The result of one model."""

    model: str
    value: float
    """In percent."""
    source: str = ""
    """The paper that it was published in; empty for our own."""


@dataclass(frozen=True)
class PublishedRule:
    """The result of the pairwise k-NN rule of one model."""

    model: str
    metrics: Mapping[str, float]
    """By the names of ours."""
    remark: str


@dataclass(frozen=True)
class Published:
    """What papers report on the test split of one dataset."""

    metric: str
    """Name of our metric that it is beside."""
    results: tuple[PublishedResult, ...]
    remark: str
    pairwise_knn: PublishedRule | None = None


def _read(file: Path) -> dict[str, Published]:
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        data: Published(
            table["metric"],
            tuple(PublishedResult(*result) for result in table["results"]),
            table["remark"],
            PublishedRule(**table["pairwise_knn"]) if "pairwise_knn" in table else None,
        )
        for data, table in found.items()
    }


PUBLISHED: Mapping[str, Published] = _read(Path(__file__).with_name("published.toml"))
"""Dataset -> what papers report."""


def beside(papers: Published, board: Leaderboard) -> list[PublishedResult]:
    """Our results and the published ones, by value."""
    ours = [(row.model, row.metrics["test"].get(papers.metric)) for row in board.rows]
    results = [*(PublishedResult(model, 100 * found.mean) for model, found in ours if found), *papers.results]
    return sorted(results, key=lambda result: (-result.value, result.model))

"""Published results on the same datasets, shown beside ours.

They are not directly comparable: training data, word vectors and, where a paper does not state them, splits differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from twicetold.reporting.glossary import describe
from twicetold.reporting.html import column, table
from twicetold.reporting.leaderboard import Leaderboard


@dataclass(frozen=True)
class PublishedResult:
    """One row of a paper's table."""

    model: str
    value: float
    """In percent, as published."""
    source: str


@dataclass(frozen=True)
class Published:
    """What papers report on one dataset."""

    metric: str
    """Name of our metric that it is beside."""
    results: tuple[PublishedResult, ...]
    remark: str


_FILM = "Tang and Aw 2020, arXiv:2010.05523"
_WANG = "Wang, Hamza and Florian 2017, arXiv:1702.03814"

PUBLISHED: Mapping[str, Published] = {
    "stsb": Published(
        metric="pearson",
        results=(
            PublishedResult("GloVe", 40.6, f"{_FILM}, table 2"),
            PublishedResult("FastText", 53.9, f"{_FILM}, table 2"),
            PublishedResult("LexVec", 55.8, f"{_FILM}, table 2"),
            PublishedResult("Word2vec", 56.5, f"{_FILM}, table 2"),
            PublishedResult("FILM", 57.68, f"{_FILM}, table 2"),
        ),
        remark="The published word vectors were trained on far more text than the train split; the paper does not say "
        "what FILM was trained on here.",
    ),
    "quora_wang": Published(
        metric="accuracy",
        results=(
            PublishedResult("Siamese-CNN", 79.60, _WANG),
            PublishedResult("Siamese-LSTM", 82.58, _WANG),
            PublishedResult("FILM (claimed)", 86.83, f"{_FILM}, table 1"),
            PublishedResult("FILM-BERT (claimed)", 88.09, f"{_FILM}, table 1"),
            PublishedResult("BiMPM", 88.17, _WANG),
            PublishedResult("RE2", 89.2, "Yang, Zhang, Gao, Ji and Chen 2019, arXiv:1908.00300"),
        ),
        remark="The published models were trained on all of the about 384,000 train pairs, most with pretrained word "
        "vectors; ours on the train pairs that are counted below, which may be a part of them. FILM’s accuracy is that "
        "of the pairwise k-NN rule.",
    ),
}
"""Dataset -> what papers report on its test split."""


def published(board: Leaderboard) -> str:
    """A table of our models and those of papers, sorted by value, as HTML; empty where no paper is known."""
    about = PUBLISHED.get(board.data)
    if about is None:
        return ""
    ours = [(row.model, row.metrics["test"].get(about.metric)) for row in board.rows]
    rows = [(100 * found.mean, model, "", True) for model, found in ours if found is not None]
    rows += [(result.value, result.model, result.source, False) for result in about.results]
    shown = (
        f'<tr><th scope="row">{escape(model)}</th><td>{f"{value:.2f}" if own else ""}</td>'
        f'<td>{"" if own else f"{value:.2f}"}</td><td class="text sub">{escape(source)}</td></tr>'
        for value, model, source, own in sorted(rows, key=lambda row: (-row[0], row[1]))
    )
    metric = escape(describe(about.metric).label)
    columns = [*map(column, ("Model", "Ours", "Published")), column("Source", text=True)]
    return (
        f'<h3>Beside published results</h3>\n<p class="soft">{metric} × 100 on test, ours and as published. Not '
        f"comparable point by point, as the training data differ. {escape(about.remark)}</p>\n"
        f"{table(columns, shown)}"
    )

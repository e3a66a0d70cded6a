"""Metrics of the search vectors of each model, as HTML: search in the whole corpus, and the pairwise k-NN rule."""

from collections.abc import Mapping
from html import escape

from twicetold.reporting.figures import Axis, Line, line_figure
from twicetold.reporting.glossary import describe
from twicetold.reporting.html import column, table
from twicetold.reporting.leaderboard import Leaderboard, Row
from twicetold.reporting.page_evidence import panel
from twicetold.reporting.page_leaderboard import plain
from twicetold.reporting.records import KnnCurves, read_knn_curves

_SEARCH = ("retrieval_recall_at", "retrieval_mrr_at", "retrieval_ndcg_at", "index_recall_at", "index_agreement_at")
_ASKED = {
    "documents": "Each test text that has another of its story (or each of a sample) is looked for among all texts of "
    "the corpus.",
    "pairs": "Each text of a test duplicate (or each of a sample) is looked for among all texts of the corpus. Correct "
    "answers are the texts that are duplicates according to test; duplicates known only from train or validation are "
    "removed from the list.",
}
_RATES = (
    ("TPR", "true_positive_rate", "duplicates that the rule finds"),
    ("TNR", "true_negative_rate", "other pairs that it leaves alone"),
    ("FPR", "false_positive_rate", "other pairs that it calls the same"),
    ("FNR", "false_negative_rate", "duplicates that it misses"),
)


def retrieval(board: Leaderboard, kind: str) -> str:
    """Search metrics of every model that has a vector for each text; empty if none has."""
    names = [name for stem in _SEARCH for name in sorted(board.metrics, key=_rank) if describe(name).stem == stem]
    rows = [row for row in board.rows if any(name in row.metrics["test"] for name in names)]
    if not rows:
        return ""
    columns = [column(escape(describe(name).label.removeprefix("Search "))) for name in names]
    body = (_row(row, {name: board.top(name) for name in names}) for row in rows)
    index = any(describe(name).stem == "index_recall_at" for name in names)
    return (
        f'<h3>Search in the whole corpus</h3>\n<p class="soft">{_ASKED.get(kind, _ASKED["pairs"])} The search is exact'
        f"{'; the columns on the right are about an approximate index over the same dense vectors' if index else ''}."
        f"</p>\n{table([column('Model'), *columns], body, kind='sortable')}"
    )


def pairwise_knn(board: Leaderboard, colours: Mapping[str, int]) -> str:
    """The pairwise k-NN rule against k, and its metrics beside those of the threshold; empty for documents."""
    found = [(row, read_knn_curves(row.first)) for row in board.rows]
    measured = [(row, curves["val"]) for row, curves in found if "val" in curves]
    if not measured:
        return ""
    best, curves = measured[0]
    k = best.first.metrics["test"]["pairwise_knn_k"]
    columns = [
        column("Model"),
        column("k", "validation"),
        column("Accuracy", "pairwise k-NN, test"),
        column("Accuracy", "threshold, test"),
        column("Log loss", "pairwise k-NN, test"),
        column("Log loss", "probability, test"),
    ]
    names = ("pairwise_knn_k", "pairwise_knn_accuracy", "accuracy", "pairwise_knn_log_loss", "log_loss")
    body = (_row(row, dict.fromkeys(names)) for row, _ in measured)
    return (
        "<h3>The pairwise k-NN rule</h3>\n"
        '<p class="soft">Two texts are called the same if each is among the k nearest neighbours of the other in the '
        "texts of the split (Tang and Aw 2020, arXiv:2010.05523). <b>The rule is transductive:</b> its decision on two "
        "texts depends on which other texts are judged at the same time, so it cannot decide a single pair. The "
        "threshold can. k is the one with the highest accuracy on validation.</p>\n"
        f'<div class="figures">{_rates_panel(best, curves, k)}{_losses_panel(measured, colours)}</div>\n'
        f"{table(columns, body, kind='sortable')}"
    )


def _rates_panel(row: Row, curves: KnnCurves, k: float) -> str:
    lines, legend = [], []
    for colour, (name, rate, meaning) in enumerate(_RATES):
        lines.append(Line(name, meaning, colour, curves.k, getattr(curves, rate)))
        legend.append((colour, name, meaning))
    up = Axis("share of pairs on validation", 0, 1, (0, 0.25, 0.5, 0.75, 1))
    title = f"Rates of the pairwise k-NN rule against k, {row.model}"
    figure = line_figure(lines, title=title, across=_across(curves), up=up, mark=k)
    return panel(f"<b>Rates against k</b>, {escape(row.model)}: the dotted line is the chosen k", figure, legend)


def _losses_panel(measured: list[tuple[Row, KnnCurves]], colours: Mapping[str, int]) -> str:
    lines = [
        Line(row.model, f"least {curves.cross_entropy.min():.3f}", colours[row.model], curves.k, curves.cross_entropy)
        for row, curves in measured
    ]
    legend = [(line.colour, line.name, line.note) for line in lines]
    up = Axis.around(
        "cross-entropy on validation", [float(end) for line in lines for end in (line.y.min(), line.y.max())]
    )
    title = "Cross-entropy of the pairwise k-NN rule against k"
    figure = line_figure(lines, title=title, across=_across(measured[0][1]), up=up)
    return panel("<b>Cross-entropy against k</b>: of yes and no as probabilities fitted on validation", figure, legend)


def _across(curves: KnnCurves) -> Axis:
    last = int(curves.k[-1])
    return Axis("k", 1, max(last, 2), (1, *range(10, last + 1, 10)))


def _row(row: Row, tops: Mapping[str, float | None]) -> str:
    """A model's metrics, with the highest value of a column in bold where it is given."""
    tag = '<span class="tag">baseline</span>' if row.first.is_baseline else ""
    cells = "".join(_cell(row, name, top) for name, top in tops.items())
    return f'<tr><th scope="row">{escape(row.model)}{tag}</th>{cells}</tr>'


def _cell(row: Row, name: str, top: float | None) -> str:
    found = row.metrics["test"].get(name)
    best = ' class="top"' if found is not None and found.mean == top else ""
    return f'<td{best} data-value="{found.mean if found else "nan"}">{plain(name, found)}</td>'


def _rank(name: str) -> int:
    rank = name.rpartition("_")[2]
    return int(rank) if rank.isdigit() else 0

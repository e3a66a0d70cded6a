"""Details of a leaderboard, as HTML: dedupe, sample pairs, curves, reliability, paired tests and word hashing."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from twicetold.evaluation.decision import Verdict
from twicetold.reporting import figures, word_hashing
from twicetold.reporting.comparison import Comparison, Reliability
from twicetold.reporting.dedupe import HOW_TO_READ, Deduped, Shown, Table
from twicetold.reporting.glossary import count, magnitude, probability, share
from twicetold.reporting.html import column, row, table
from twicetold.reporting.leaderboard import Leaderboard, Row
from twicetold.reporting.page_leaderboard import plain
from twicetold.reporting.records import read_curves
from twicetold.reporting.samples import EXPLANATION, decision_in_words, sample_table


def dedupe(found: Deduped | None, *, in_full: bool) -> str:
    """How far a dedupe by each model can be trusted; other aims and rules are collapsed at first.

    Args:
        found: what is shown.
        in_full: whether it is explained here, once on the page.
    """
    if found is None:
        return ""
    texts = [*map(escape, HOW_TO_READ)] if in_full else ['<a href="#dedupe">How to read this</a>.']
    texts += [escape(found.caveat)] if found.caveat else []
    above = "\n".join(f'<p class="soft">{text}</p>' for text in texts)
    place = ' id="dedupe"' if in_full else ""
    below = "".join(f'<p class="sub">{escape(text)}</p>' for text in found.notes)
    further = "\n".join(
        f"<details><summary>{summary}</summary>{_shown_table(part)}</details>"
        for summary, part in (("Links at other precisions", found.other_aims), ("Each rule of grouping", found.rules))
        if part.rows
    )
    return f"<h3{place}>Dedupe</h3>\n{above}\n{_shown_table(found.table)}{below}\n{further}"


def _shown_table(found: Table) -> str:
    columns = [column("Model"), *(column(escape(head.text), escape(head.note)) for head in found.columns)]
    rows = (
        f'<tr><th scope="row">{escape(name.text)}{_tag(name.note)}</th>{"".join(map(_shown, cells))}</tr>'
        for name, cells in found.rows
    )
    return table(columns, rows, kind="wide sortable")


def _tag(note: str) -> str:
    return f'<span class="tag">{escape(note)}</span>' if note else ""


def _shown(cell: Shown) -> str:
    note = f' <span class="sub">{escape(cell.note)}</span>' if cell.note else ""
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    return f"<td{value}>{escape(cell.text)}{note}</td>"


def samples(board: Leaderboard) -> str:
    """Scores and decisions of each model on the sample pairs."""
    found = sample_table(board)
    if found is None:
        return ""
    columns = [column(escape(left), escape(right), text=True) for left, right in found.pairs]
    rows = (
        f'<tr><th scope="row">{escape(model)}</th>{"".join(map(_verdict, verdicts))}</tr>'
        for model, verdicts in found.rows
    )
    shown = table([column("Do these say the same?"), *columns], rows)
    return f'<h3>Sample pairs</h3>\n<p class="soft">{EXPLANATION}</p>\n{shown}'


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return '<td class="text">–</td>'
    numbers = f"score {magnitude(verdict.score)}, probability {share(verdict.probability)}"
    return f'<td class="text">{decision_in_words(verdict)} <span class="sub">{numbers}</span></td>'


def curves(board: Leaderboard, reliabilities: Sequence[Reliability], colours: Mapping[str, int]) -> str:
    """ROC curves for each label and, for labelled pairs, the reliability of probabilities; one colour per model."""
    found = [(colours[row.model], row, read_curves(row.first)) for row in board.rows]
    labels = dict.fromkeys(label for _, _, curves in found for label in curves)
    panels = []
    for label in labels:
        drawn = [(c, row, curves[label], _area(row, label)) for c, row, curves in found if label in curves]
        figure = figures.roc_figure(
            [(row.model, f"AUROC {area}", colour, curve) for colour, row, curve, area in drawn],
            title=f"ROC curves for {label}",
        )
        several = len(labels) > 1
        caption = f"<b>ROC{', same ' + escape(label) if several else ''}</b>: true pairs found against false alarms"
        legend = [(colour, row.model, area) for colour, row, _, area in drawn]
        panels.append(panel(caption, figure, legend))
    if reliabilities:
        reliable = [(colours[r.model], r) for r in reliabilities]
        figure = figures.reliability_figure(reliable, title="Observed share against predicted probability")
        caption = "<b>Reliability</b>: on the diagonal, probabilities are calibrated"
        panels.append(panel(caption, figure, [(c, r.model, f"off by {r.gap:.3f}") for c, r in reliable]))
    if not panels:
        return ""
    tables = _reliability_table(reliabilities[0]) if reliabilities else ""
    return f'<h3>Curves</h3>\n<div class="figures">{"".join(panels)}</div>\n{tables}'


def significance(board: Leaderboard, found: Sequence[Comparison]) -> str:
    """The best model against each other one on the same test pairs."""
    if not found:
        return ""
    best = escape(board.best.model)
    columns = [
        column(f"{best} against"),
        column("AUROC", "difference"),
        column("", "95 % interval"),
        column("p", "DeLong"),
        column(f"Only {best}", "is right"),
        column("Only the other", "is right"),
        column("p", "McNemar"),
    ]
    rows = (
        row(
            escape(c.model),
            [
                f"{c.auroc.difference:+.4f}",
                f"{c.auroc.low:+.4f} to {c.auroc.high:+.4f}",
                probability(c.auroc.p_value),
                count(c.only_best_right),
                count(c.only_other_right),
                probability(c.mcnemar_p_value),
            ],
        )
        for c in found
    )
    return (
        f"<h3>Is {best} really better?</h3>\n"
        '<p class="soft">On the same test pairs: the difference in AUROC (paired test of DeLong and others) and the '
        "pairs for which only one of the two is right (McNemar’s test). The p-values are not corrected for the "
        "number of comparisons.</p>\n"
        f"{table(columns, rows)}"
    )


def hashing(board: Leaderboard) -> str:
    """Word hashing statistics of the models that use it."""
    found = word_hashing.hashing_rows(board)
    if not found:
        return ""
    columns = map(column, ["Model", *map(str.capitalize, word_hashing.COLUMNS)])
    shown = table(columns, (row(escape(models), cells) for models, cells in found))
    return f'<h3>Word hashing</h3>\n<p class="soft">{word_hashing.EXPLANATION}</p>\n{shown}'


def _area(row: Row, label: str) -> str:
    metrics = row.metrics["test"]
    found = metrics.get(f"auroc_{label}") or metrics.get("auroc")
    return plain("auroc", found)


def panel(caption: str, figure: str, legend: Iterable[tuple[int, str, str]]) -> str:
    """A figure with its caption and a legend of colours, names and notes; caption and figure are HTML."""
    items = "".join(
        f'<li>{figures.swatch(colour)}{escape(name)}<span class="sub">{escape(note)}</span></li>'
        for colour, name, note in legend
    )
    return f'<figure><figcaption>{caption}</figcaption>{figure}<ul class="legend">{items}</ul></figure>'


def _reliability_table(found: Reliability) -> str:
    rows = (
        row(f"{b.low:.1f} to {b.high:.1f}", [count(b.count), share(b.predicted), share(b.observed)]) for b in found.bins
    )
    shown = table(map(column, ("Probability", "Test pairs", "Predicted", "Say the same")), rows)
    return f"<details><summary>Predicted and observed, {escape(found.model)}</summary>{shown}</details>"

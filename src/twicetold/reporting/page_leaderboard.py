"""The leaderboard of one dataset as HTML tables."""

import math
from collections.abc import Sequence
from html import escape

from twicetold.reporting import figures
from twicetold.reporting.glossary import count, describe, magnitude, number, split_of
from twicetold.reporting.html import column, row, table
from twicetold.reporting.leaderboard import Estimate, Leaderboard, Row


def leaderboard_table(board: Leaderboard) -> str:
    """One row per model, the best on validation first; a click on a head sorts by its column."""
    shown = [name for name in board.metrics[1:] if describe(name).leads]
    primary = escape(describe(board.primary).label)
    columns = [
        column("Model"),
        column(primary, "test"),
        column("", "95 % interval", text=True),
        column(primary, "validation"),
        *(column(escape(describe(name).label), split_of(name)) for name in shown),
        column("Parameters"),
        column("Epochs"),
    ]
    observed = any(row.train_seconds is not None or row.texts_per_second is not None for row in board.rows)
    if observed:
        columns += [column("Training", "seconds"), column("Speed", "texts a second")]
    rows = (_leaderboard_row(row, board, shown, observed) for row in board.rows)
    notes = "".join(f'<p class="sub">{escape(note)}</p>' for note in board.not_clean)
    return table(columns, rows, kind="wide sortable") + notes


def all_metrics_table(board: Leaderboard) -> str:
    """Every metric of every model on validation and test, collapsed at first."""
    columns = [column("Metric")]
    for model in board.rows:
        columns += [column(escape(model.model), "validation"), column("", "test")]
    splits = [model.metrics[split] for model in board.rows for split in ("val", "test")]
    rows = (
        row(escape(describe(name).label), (plain(name, found.get(name), 4) for found in splits))
        for name in board.metrics
    )
    shown = table(columns, rows, kind="wide")
    return f"<details><summary>All metrics, validation beside test</summary>{shown}</details>"


def estimate(name: str, found: Estimate) -> str:
    """A mean with its standard deviation over seeds."""
    metric = describe(name)
    if found.deviation is None:
        return metric.show(found.mean)
    return f'{metric.show(found.mean)} <span class="sub spread">± {metric.show(found.deviation)}</span>'


def plain(name: str, found: Estimate | None, digits: int = 3) -> str:
    """A mean alone, an en dash where there is none."""
    return "–" if found is None else describe(name).show(found.mean, digits)


def _leaderboard_row(row: Row, board: Leaderboard, shown: Sequence[str], observed: bool) -> str:
    tags = f' <span class="sub">{len(row.runs)} seeds</span>' if len(row.runs) > 1 else ""
    tags += '<span class="tag on">best</span>' if row is board.best else ""
    tags += '<span class="tag">baseline</span>' if row.first.is_baseline else ""
    tags += '<span class="tag">not clean</span>' if row.first.pretrained_on else ""
    primary = row.metrics["test"].get(board.primary)
    cells = [
        _quality(board.primary, primary, top=board.top(board.primary)),
        f'<td class="left" data-value="{primary.mean if primary else "nan"}">{_whisker(primary, board)}</td>',
        _quality(board.primary, row.metrics["val"].get(board.primary), top=None),
        *(_quality(name, row.metrics["test"].get(name), top=board.top(name)) for name in shown),
        _amount(row.first.parameters, count(row.first.parameters) if row.first.parameters else "–"),
        _amount(row.epochs, f"{row.epochs:g}" if row.epochs else "–"),
    ]
    if observed:
        costs = (row.train_seconds, row.texts_per_second)
        cells += [_amount(cost, "–" if cost is None else magnitude(cost)) for cost in costs]
    kind = ' class="best"' if row is board.best else ""
    return f'<tr{kind}><th scope="row">{escape(row.model)}{row.mark}{tags}</th>{"".join(cells)}</tr>'


def _quality(name: str, found: Estimate | None, *, top: float | None) -> str:
    if found is None:
        return '<td data-value="nan">–</td>'
    kind = ' class="top"' if found.mean == top else ""
    return f'<td{kind} data-value="{found.mean!r}">{estimate(name, found)}</td>'


def _amount(value: float | None, text: str) -> str:
    return f'<td data-value="{"nan" if value is None else value}">{text}</td>'


def _whisker(found: Estimate | None, board: Leaderboard) -> str:
    if found is None or math.isnan(found.mean):
        return ""
    estimates = [row.metrics["test"][board.primary] for row in board.rows if board.primary in row.metrics["test"]]
    ends = [end for e in estimates for end in (e.mean, *(e.interval or ())) if not math.isnan(end)]
    axis = (min(ends), max(ends)) if max(ends) > min(ends) else (min(ends) - 0.5, max(ends) + 0.5)
    baseline = board.baseline.metrics["test"][board.primary].mean if board.baseline else None
    drawn = figures.whisker(found.mean, interval=found.interval, axis=axis, baseline=baseline)
    if found.interval is None:
        return drawn
    return f'{drawn} <span class="sub">{number(found.interval[0])}–{number(found.interval[1])}</span>'

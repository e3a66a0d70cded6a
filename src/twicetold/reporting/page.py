"""The report as one self-contained HTML page: no external resources, inline figures, a few lines of script.

Everything that came from configuration or data is escaped; the only unescaped strings are those made here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from twicetold.reporting import comparison, provenance, style
from twicetold.reporting.dedupe import Deduped, deduped
from twicetold.reporting.false_negatives import mined_negatives
from twicetold.reporting.glossary import count, describe, number, size
from twicetold.reporting.html import column, row, table
from twicetold.reporting.leaderboard import Leaderboard, Row
from twicetold.reporting.page_evidence import curves, dedupe, hashing, samples, significance
from twicetold.reporting.page_leaderboard import all_metrics_table, estimate, leaderboard_table, plain
from twicetold.reporting.page_reading import glossary, reading
from twicetold.reporting.page_vectors import pairwise_knn, retrieval
from twicetold.reporting.published import published
from twicetold.reporting.records import Peer, Provenance


@dataclass(frozen=True)
class Section:
    """One dataset: its description, its leaderboard and the peers of a dedupe."""

    about: Provenance
    board: Leaderboard
    peers: Sequence[Peer] = ()

    @cached_property
    def deduped(self) -> Deduped | None:
        """How far a dedupe by each model can be trusted."""
        return deduped(self.board, self.about.kind, self.peers)


def page(sections: Sequence[Section]) -> str:
    """The whole report."""
    models = {row.model for section in sections for row in section.board.rows}
    cells = sum(len(row.runs) for section in sections for row in section.board.rows)
    colours = {model: colour for colour, model in enumerate(_by_role(sections))}
    boards = [section.board for section in sections]
    further = [name for section in sections if section.deduped for name in section.deduped.metrics]
    further += ["mined_false_negative_rate"] if any(section.about.mined for section in sections) else []
    explained = next((section for section in sections if section.deduped), None)
    shown = "".join(_section(section, colours, explains=section is explained) for section in sections)
    links = "".join(f'<a href="#{_anchor(s)}">{escape(s.about.name)}</a>' for s in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>twicetold: report</title>\n<style>{style.STYLE}</style>\n</head>\n<body>\n"
        '<header>\n<p class="name">twicetold</p>\n'
        "<h1>Which cheap model tells me that two texts say the same thing, and how far can I trust it?</h1>\n"
        f'<p class="lead">{_plural(len(models), "model")} on {_plural(len(sections), "dataset")}, '
        f"{_plural(cells, 'run')} in all. Every choice was made on validation; the test numbers below chose "
        "nothing.</p>\n</header>\n"
        f'<nav>{links}<a href="#reading">How to read this</a><a href="#glossary">Glossary</a></nav>\n<main>\n'
        f"{_overview(sections)}\n{shown}\n{reading(boards)}\n"
        f"{glossary(boards, *further)}\n</main>\n"
        "<footer>The same numbers at full precision, one per line, are in <code>leaderboard.csv</code> beside this "
        f"page.</footer>\n<script>{style.SCRIPT}</script>\n</body>\n</html>\n"
    )


def _overview(sections: Sequence[Section]) -> str:
    models = _by_role(sections)
    rows = []
    for section in sections:
        board = section.board
        found = {row.model: row for row in board.rows}
        cells = [_overview_cell(found.get(model), board) for model in models]
        name = f'<a href="#{_anchor(section)}">{escape(board.data)}</a>'
        metric = escape(describe(board.primary).label)
        rows.append(f'<tr><th scope="row">{name} <span class="sub">{metric}</span></th>{"".join(cells)}</tr>')
    return (
        "<h2>At a glance</h2>\n"
        '<p class="soft">The primary metric on test; the model that validation chooses is set off in colour.</p>\n'
        f"{table(map(column, ['Dataset', *map(escape, models)]), rows)}"
    )


def _by_role(sections: Sequence[Section]) -> list[str]:
    """All models, the trained ones first, then by name: the order of columns and colours on the page."""
    rows = [row for section in sections for row in section.board.rows]
    baselines = {row.model for row in rows if row.first.is_baseline}
    return sorted({row.model for row in rows}, key=lambda model: (model in baselines, model))


def _overview_cell(row: Row | None, board: Leaderboard) -> str:
    if row is None:
        return '<td class="sub">not run</td>'
    chosen = ' class="chosen"' if row is board.best else ""
    return f"<td{chosen}>{plain(board.primary, row.metrics['test'].get(board.primary))}</td>"


def _section(section: Section, colours: Mapping[str, int], *, explains: bool) -> str:
    about, board = section.about, section.board
    judged = about.kind == "labelled_pairs"
    parts = [
        f'<section id="{_anchor(section)}">\n<h2>{escape(about.name)}</h2>',
        f'<p class="soft">{escape(provenance.KINDS[about.kind])}</p>',
        _verdict(board),
        f"<h3>Leaderboard</h3>\n{leaderboard_table(board)}\n{all_metrics_table(board)}",
        dedupe(section.deduped, in_full=explains),
        samples(board),
        curves(board, comparison.reliabilities(board.rows) if judged else [], colours),
        significance(board, comparison.compare(board)) if judged else "",
        retrieval(board, about.kind),
        pairwise_knn(board, colours),
        published(board),
        hashing(board),
        mined_negatives(about),
        _data(about),
    ]
    return "\n".join(part for part in parts if part) + "\n</section>\n"


def _verdict(board: Leaderboard) -> str:
    best, baseline = board.best, board.baseline
    found = best.metrics["test"][board.primary]
    metric = escape(describe(board.primary).label)
    text = f"Validation chooses <b>{escape(best.model)}</b>: {metric} on test {estimate(board.primary, found)}"
    if found.interval:
        text += f" (95 % interval {number(found.interval[0])} to {number(found.interval[1])})"
    if baseline is not None and baseline is not best:
        other = baseline.metrics["test"][board.primary].mean
        text += f", {found.mean - other:+.3f} against the best baseline, {escape(baseline.model)}"
    elif baseline is best and len(board.rows) > 1:
        text += ". It is a baseline: no other model does better on validation"
    return f"<p>{text}.</p>"


def _data(about: Provenance) -> str:
    parts = ["<h3>The data</h3>"]
    counted = provenance.split_table(about.card)
    if counted is not None:
        rows = (row(split, map(escape, cells)) for split, cells in counted.rows)
        parts.append(table(map(column, ["Split", *map(escape, counted.columns)]), rows))
    facts = provenance.facts(about.card)
    if facts:
        items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
        parts.append(f'<dl class="facts">{items}</dl>')
    audit = provenance.audit_in_words(about.audit)
    if audit:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in audit)
        parts.append(f'<h3>Does anything leak between the splits?</h3><ul class="audit">{items}</ul>')
    parts.append(_files(about))
    return "\n".join(parts)


def _files(about: Provenance) -> str:
    if not about.files:
        return '<p class="soft">No file was downloaded: this corpus is generated, or your own.</p>'
    columns = [*map(column, ("File", "Size", "Lines")), *(column(label, text=True) for label in ("From", "SHA-256"))]
    rows = (
        f'<tr><th scope="row">{escape(f.name)}</th><td>{size(f.size)}</td><td>{count(f.lines)}</td>'
        f'<td class="text hash">{escape(f.origin)}</td><td class="text hash">{escape(f.sha256)}</td></tr>'
        for f in about.files
    )
    return (
        f"<details><summary>Raw files, where they came from and their checksums ({len(about.files)})</summary>"
        f"{table(columns, rows)}</details>"
    )


def _plural(amount: int, noun: str) -> str:
    return f"{amount} {noun}{'' if amount == 1 else 's'}"


def _anchor(section: Section) -> str:
    return escape(f"data-{section.about.name}".replace(" ", "-"))

"""Details of a leaderboard, as HTML: sample pairs, curves, reliability, paired tests and word hashing."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from twicetold.evaluation.decision import Verdict
from twicetold.reporting import figures, word_hashing
from twicetold.reporting.comparison import Comparison, Reliability
from twicetold.reporting.glossary import count, magnitude, probability, share
from twicetold.reporting.leaderboard import Leaderboard, Row
from twicetold.reporting.page_leaderboard import plain
from twicetold.reporting.records import read_curves
from twicetold.reporting.samples import EXPLANATION, decision_in_words, sample_table


def samples(board: Leaderboard) -> str:
    """The answers of each model on the sample pairs."""
    found = sample_table(board)
    if found is None:
        return ""
    heads = "".join(
        f'<th scope="col" class="text">{escape(left)}<small>{escape(right)}</small></th>' for left, right in found.pairs
    )
    body = "".join(
        f'<tr><th scope="row">{escape(model)}</th>{"".join(map(_verdict, verdicts))}</tr>'
        for model, verdicts in found.rows
    )
    return (
        f'<h3>Sample pairs</h3>\n<p class="soft">{EXPLANATION}</p>\n'
        f'<div class="scroll"><table><thead><tr><th scope="col">Do these say the same?</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return '<td class="text">–</td>'
    numbers = f"score {magnitude(verdict.score)}, probability {share(verdict.probability)}"
    return f'<td class="text">{decision_in_words(verdict)} <span class="sub">{numbers}</span></td>'


def curves(board: Leaderboard, reliabilities: Sequence[Reliability], colours: Mapping[str, int]) -> str:
    """ROC curves for each label and, where there are probabilities, how reliable they are; one colour per model."""
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
    body = "".join(
        f'<tr><th scope="row">{escape(c.model)}</th><td>{c.difference:+.4f}</td>'
        f"<td>{c.low:+.4f} to {c.high:+.4f}</td><td>{probability(c.p_value)}</td>"
        f"<td>{count(c.only_best_right)}</td><td>{count(c.only_other_right)}</td>"
        f"<td>{probability(c.verdict_p_value)}</td></tr>"
        for c in found
    )
    best = escape(board.best.model)
    return (
        f"<h3>Is {best} really better?</h3>\n"
        '<p class="soft">On the same test pairs: the difference in AUROC (paired test of DeLong and others) and the '
        "pairs for which only one of the two is right (McNemar’s test). The p-values are not corrected for the "
        "number of comparisons.</p>\n"
        f'<div class="scroll"><table><thead><tr><th scope="col">{best} against</th>'
        '<th scope="col">AUROC<small>difference</small></th><th scope="col"><small>95 % interval</small></th>'
        f'<th scope="col">p<small>DeLong</small></th><th scope="col">Only {best}<small>is right</small></th>'
        '<th scope="col">Only the other<small>is right</small></th><th scope="col">p<small>McNemar</small></th>'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def hashing(board: Leaderboard) -> str:
    """Word hashing statistics of the models that use it."""
    found = word_hashing.hashing_rows(board)
    if not found:
        return ""
    heads = "".join(f'<th scope="col">{column.capitalize()}</th>' for column in word_hashing.COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{escape(models)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for models, cells in found
    )
    return (
        f'<h3>Word hashing</h3>\n<p class="soft">{word_hashing.EXPLANATION}</p>\n'
        f'<div class="scroll"><table><thead><tr><th scope="col">Model</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


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
    body = "".join(
        f'<tr><th scope="row">{b.low:.1f} to {b.high:.1f}</th><td>{count(b.count)}</td>'
        f"<td>{share(b.predicted)}</td><td>{share(b.observed)}</td></tr>"
        for b in found.bins
    )
    return (
        f"<details><summary>Predicted and observed, {escape(found.model)}</summary>"
        '<div class="scroll"><table><thead><tr><th scope="col">Probability</th><th scope="col">Test pairs</th>'
        '<th scope="col">Predicted</th><th scope="col">Say the same</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div></details>"
    )

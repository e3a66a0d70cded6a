"""Published results beside ours, as HTML."""

from html import escape

from twicetold.reporting.glossary import describe
from twicetold.reporting.leaderboard import Leaderboard
from twicetold.reporting.published import PUBLISHED


def published(board: Leaderboard) -> str:
    """One table of our models and those of papers, by value; empty where no paper is known for the dataset."""
    about = PUBLISHED.get(board.data)
    if about is None:
        return ""
    ours = [(row.model, row.metrics["test"].get(about.metric)) for row in board.rows]
    rows = [(100 * found.mean, model, "", True) for model, found in ours if found is not None]
    rows += [(result.value, result.model, result.source, False) for result in about.results]
    body = "".join(
        f'<tr><th scope="row">{escape(model)}</th><td>{f"{value:.2f}" if own else ""}</td>'
        f'<td>{"" if own else f"{value:.2f}"}</td><td class="text sub">{escape(source)}</td></tr>'
        for value, model, source, own in sorted(rows, key=lambda row: (-row[0], row[1]))
    )
    metric = escape(describe(about.metric).label)
    return (
        f'<h3>Beside published results</h3>\n<p class="soft">{metric} × 100 on test, ours and as published. Not '
        f"comparable point by point, as the training data differ. {escape(about.remark)}</p>\n"
        '<div class="scroll"><table><thead><tr><th scope="col">Model</th><th scope="col">Ours</th>'
        '<th scope="col">Published</th><th scope="col" class="text">Source</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )

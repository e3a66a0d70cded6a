"""False negatives of the mining strategies, as HTML: figure and table."""

from html import escape

from twicetold.reporting import false_negatives
from twicetold.reporting.false_negatives import percent, rate, rate_interval
from twicetold.reporting.figures import Axis, Share, share_figure
from twicetold.reporting.records import Mined, Provenance


def mined_negatives(about: Provenance) -> str:
    """How many negatives of each strategy are duplicates; empty where nothing is known of that."""
    if not about.mined:
        return ""
    shares = [_share(mined) for mined in about.mined]
    across = Axis.around("% of negatives that are known duplicates", [0, *(shown.interval[1] for shown in shares)])
    figure = share_figure(shares, title="False-negative rate of each way of mining", across=across)
    heads = "".join(f'<th scope="col">{column.capitalize()}</th>' for column in false_negatives.COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{escape(mined.strategy)}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in false_negatives.cells(mined))}</tr>"
        for mined in about.mined
    )
    return (
        f'<h3>Mined negatives that are duplicates</h3>\n<p class="soft">{false_negatives.EXPLANATION}</p>\n'
        "<figure><figcaption><b>False-negative rate</b> of each way of mining, with its 95 % interval</figcaption>"
        f"{figure}</figure>\n"
        f'<div class="scroll"><table><thead><tr><th scope="col">Mined by</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _share(mined: Mined) -> Share:
    low, high = rate_interval(mined)
    return Share(mined.strategy, percent(rate(mined)), 100 * rate(mined), (100 * low, 100 * high))

"""False negatives of the mining strategies, as HTML: figure and table."""

import math
from html import escape

from twicetold.reporting import false_negatives
from twicetold.reporting.false_negatives import percent, rate, rate_interval
from twicetold.reporting.figures import Axis, Share, share_figure
from twicetold.reporting.records import Provenance

_STEPS = (1, 2, 2.5, 5, 10)  # times a power of ten, between two ticks


def mined_negatives(about: Provenance) -> str:
    """How many negatives of each strategy are duplicates; empty where nothing is known of that."""
    if not about.mined:
        return ""
    shares = []
    for mined in about.mined:
        low, high = rate_interval(mined)
        shares.append(Share(mined.strategy, percent(rate(mined)), 100 * rate(mined), (100 * low, 100 * high)))
    figure = share_figure(
        shares, title="False-negative rate of each mining strategy", across=_axis(max(s.interval[1] for s in shares))
    )
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


def _axis(highest: float) -> Axis:
    """From 0 to the first of at most five ticks that is not below the highest value."""
    power = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(power * factor for factor in _STEPS if 5 * power * factor >= highest)
    ticks = tuple(round(step * tick, 12) for tick in range(math.ceil(round(highest / step, 9)) + 1))
    return Axis("% of negatives that are known duplicates", 0, ticks[-1], ticks)

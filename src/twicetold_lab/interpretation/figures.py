"""An explanation as a figure: a square for each pair of terms, blue for positive contributions, vermilion for negative.

Colours are those of `evaluation.figures`. Large contributions are also written as numbers, so
that colour is not needed to read them.
"""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from twicetold.interpretation.contributions import Explanation
from twicetold_lab.evaluation.figures import COLOURS, GREY, INK, save_figure

FOR, AGAINST = COLOURS[0], COLOURS[1]
MOST = 14  # terms on a side
WRITTEN = 0.02  # squares with at least this share of the largest contribution show its number
LONGEST = 24  # letters of a term


def explanation_figure(explanation: Explanation) -> Any:
    """A matplotlib figure of the contributions; of more than `MOST` terms, the smallest are summed in one row."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure  # not pyplot: no display, no global state

    shown = explanation.folded(MOST)
    values = shown.contribution
    reach = float(np.abs(values).max()) or 1.0
    rows, columns = values.shape
    figure = Figure(figsize=(1.9 + 0.56 * columns, 1.5 + 0.42 * rows), layout="constrained")
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("contribution", [AGAINST, "#ffffff", FOR])
    axes.pcolormesh(values, cmap=colours, vmin=-reach, vmax=reach, edgecolors="#e6e6e6", linewidth=0.6)
    for row, column in zip(*np.nonzero(np.abs(values) >= WRITTEN * reach), strict=True):
        value = values[row, column]
        ink = "#ffffff" if abs(value) > 0.6 * reach else INK
        axes.text(column + 0.5, row + 0.5, f"{value:.3f}", ha="center", va="center", color=ink, fontsize=7)
    axes.set_yticks(np.arange(rows) + 0.5, [_short(term) for term in shown.left])
    axes.set_xticks(np.arange(columns) + 0.5, [_short(term) for term in shown.right], rotation=40, ha="left")
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.tick_params(length=0, colors=INK)
    axes.spines[:].set_visible(False)
    axes.set_ylabel("left", color=GREY)
    axes.set_xlabel(f"score {explanation.score:.3f}, the sum of all squares", color=INK, loc="left")
    return figure


def save_explanation_figure(path: Path, explanation: Explanation) -> None:
    """Write the figure to `path`, in the format of its suffix (svg, png, pdf).

    Letters are drawn as shapes. Where matplotlib's font lacks one, as of Chinese, an svg has the text itself, which
    whoever shows it draws with the fonts that are there.
    """

    def draw() -> Any:
        from matplotlib import rcParams

        if not _has_all_letters([*explanation.left, *explanation.right]):
            rcParams["svg.fonttype"] = "none"  # until `save_figure` ends
        return explanation_figure(explanation)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        save_figure(path, draw)


def _has_all_letters(terms: Iterable[str]) -> bool:
    """True if matplotlib's font has a shape for every letter."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties()))
    return all(font.get_char_index(ord(letter)) for letter in set("".join(terms)))


def _short(term: str) -> str:
    # A dollar sign would begin a formula.
    shown = term if len(term) <= LONGEST else f"{term[: LONGEST - 1]}\u2026"
    return shown.replace("$", r"\$")

"""ROC curves as a figure and as rows of a table; the same curves always give the same bytes.

The colours are those of Okabe & Ito 2008 ("Color universal design"), which colour-blind readers can distinguish;
dashes distinguish curves in grey. matplotlib is imported when a figure is drawn, and needs no display.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from twicetold.evaluation.ranking import RocCurve
from twicetold.files import csv_text, write_file, write_text

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")
TABLE_POINTS = 200
INK, GREY = "#222222", "#8a8a8a"


def roc_figure(curves: Mapping[str, RocCurve], *, title: str = "") -> Any:
    """Return a matplotlib figure of named ROC curves, largest area first in the legend.

    Raises:
        ValueError: if there is no curve.
    """
    if not curves:
        raise ValueError("a ROC figure needs at least one curve")
    from matplotlib.figure import Figure  # not pyplot: no display, no global state

    figure = Figure(figsize=(5.2, 5.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (1, 3)), zorder=1)
    ranked = sorted(curves.items(), key=lambda item: -item[1].area)
    for place, (name, curve) in enumerate(ranked):
        axes.plot(
            curve.fpr,
            curve.tpr,
            color=COLOURS[place % len(COLOURS)],
            linestyle=DASHES[place // len(COLOURS) % len(DASHES)],
            linewidth=1.8,
            label=f"{name}  {curve.area:.3f}".replace("$", r"\$"),  # a dollar sign would begin a formula
            zorder=2,
        )
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.set_xlabel("false positive rate", color=INK)
    axes.set_ylabel("true positive rate", color=INK)
    if title:
        axes.set_title(title, color=INK, loc="left")
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(title="area under the curve", loc="lower right", frameon=False, alignment="left")
    return figure


def save_roc_figure(path: Path, curves: Mapping[str, RocCurve], *, title: str = "") -> None:
    """Write the figure to `path` in the format of its suffix (svg, png, pdf).

    Raises:
        ValueError: if there is no curve.
    """
    save_figure(path, lambda: roc_figure(curves, title=title))


def save_figure(path: Path, draw: Callable[[], Any]) -> None:
    """Write the matplotlib figure that `draw` returns in the format of the suffix, with reproducible bytes."""
    from matplotlib import rc_context

    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "twicetold", "svg.fonttype": "path"}), write_file(path) as temporary:
        draw().savefig(temporary, format=path.suffix.lstrip("."), dpi=144, metadata=dates.get(path.suffix))


def save_roc_csv(path: Path, curves: Mapping[str, RocCurve]) -> None:
    """Write the curves as a table for `dvc plots`, at most `TABLE_POINTS` rows for each label."""
    thinned = {label: curve.thinned(TABLE_POINTS) for label, curve in curves.items()}
    rows = (
        (label, f"{x:.6f}", f"{y:.6f}")
        for label, curve in thinned.items()
        for x, y in zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True)
    )
    write_text(path, csv_text(("label", "false_positive_rate", "true_positive_rate"), rows))

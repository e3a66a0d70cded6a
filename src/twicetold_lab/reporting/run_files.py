"""What the report says of each run, as files that can be looked at beside it: its mistakes, and where it stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from twicetold.files import csv_text
from twicetold_lab.reporting.errors import Judged
from twicetold_lab.reporting.page import Section
from twicetold_lab.reporting.rendering import standalone
from twicetold_lab.runs.records import Run

MISTAKES, FIGURE = "report/mistakes.csv", "report/quality_against_speed.svg"
MOST = 500
"""Mistakes of a run, the surest first."""
COLUMNS = ("left", "right", "label", "probability", "slices")


@dataclass(frozen=True)
class RunFiles:
    """Files of one run.

    Args:
        run: which.
        files: path -> content.
    """

    run: Run
    files: dict[str, str]


def run_files(sections: Sequence[Section]) -> Iterator[RunFiles]:
    """The files of each run that has any: mistakes of each model's first one, the figure of all models.

    Args:
        sections: of the datasets.
    """
    for section in sections:
        drawn = section.drawn
        figure = {} if drawn is None else {FIGURE: standalone(drawn.figure)}
        for row in section.board.rows:
            for run in row.runs:
                files = dict(figure)
                if run is row.first and isinstance(section.mistakes, Judged) and row.model in section.mistakes.models:
                    files[MISTAKES] = mistakes_csv(section.mistakes, row.model)
                if files:
                    yield RunFiles(run, files)


def mistakes_csv(found: Judged, model: str) -> str:
    """The mistakes of one model, the surest first."""
    place = found.models.index(model)
    wrong = np.flatnonzero(found.wrong[place])
    surest = wrong[np.argsort(-found.confidence[place, wrong], kind="stable")][:MOST]
    rows = (
        (
            found.left[pair],
            found.right[pair],
            f"{found.label[pair]:g}",
            f"{found.probability[place, pair]:.3f}",
            " ".join(found.signs.names(pair)),
        )
        for pair in surest.tolist()
    )
    return csv_text(COLUMNS, rows)

"""The cells of a report, and what it knows of them besides results."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from twicetold_lab.runs.folder import Cell


@dataclass(frozen=True)
class ControlledCell:
    """A training on terms that other families share.

    Args:
        cell: of the grid.
        family: whose encoder, features and optimizer it has.
        terms: name of the experiment that chooses the rest.
    """

    cell: Cell
    family: str
    terms: str


@dataclass(frozen=True)
class Grid:
    """The cells to report.

    Args:
        cells: each model's own rows; datasets are shown in order of first appearance.
        commands: that train cells; where there is none, no command is shown.
        ensembles: cells that join other ones, whose own number of epochs says nothing of them.
        controlled: trainings of families on the same terms, beside `cells`.
        cross_domain: cells that were evaluated on other data as well.
        seconds: that a cell's training took, by the cell's name; where they are not known, those that it observed.
    """

    cells: Sequence[Cell] = ()
    commands: Mapping[Cell, str] = field(default_factory=dict)
    ensembles: Collection[Cell] = ()
    controlled: Sequence[ControlledCell] = ()
    cross_domain: Sequence[Cell] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

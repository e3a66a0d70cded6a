"""The cost of models beside their quality: a table and a figure.

Where no cost was measured yet, the primary metric and the seconds of training stand alone, and a note says so.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twicetold_lab.reporting.cost_figure import Point, cost_figure, rivals
from twicetold_lab.reporting.glossary import count, describe, magnitude, size
from twicetold_lab.reporting.leaderboard import Leaderboard, Row
from twicetold_lab.reporting.tables import MISSING, Figure, Section, Table, TableCell, estimate_cell
from twicetold_lab.reporting.tiers import Standing, against
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.scoring.cost import MANY, Cost

TITLE = "Cost"
HOW_TO_READ = (
    "Size is that of the model folder: as trained, with 32 bits a number, and as it would be with 8 bits for each "
    "number of a matrix. Sizes are exact. Memory and times were observed: a second measurement gives other ones, and "
    "those of two processors cannot be compared. Memory is the most that the process held, Python and its libraries "
    "included. "
    "Texts go from strings to vectors, and pairs from strings to a score, on one thread, in seconds of processor time."
)
OF_TRAINING = "Training is the whole stage, as in runs/last_run.json, or else the fit alone."
FIGURE = (
    "filled are the models that no faster one beats, which the step joins, and those that cannot be told from the best "
    "model that is as fast; the others are hollow. The area is the size of the model. The step is drawn through values "
    "of test: it describes them, and chooses nothing"
)
BY_TEST = "Models are told apart by the paired test of the tables below, at 5 %, corrected for their number"
BY_INTERVALS = "Models are told apart where intervals do not overlap, as what a paired test needs was not kept"


def cost_section(board: Leaderboard, seconds: Mapping[str, float]) -> Section | None:
    """The cost of each model, of its run with the smallest seed that was measured; None if nothing is known.

    Args:
        board: all models.
        seconds: that a cell's training took, by the cell's name; the mean over seeds is shown.

    Raises:
        ValueError: if models were evaluated on different units.
    """
    took = {row.model: training_seconds(row, seconds) for row in board.rows}
    if not any(row.cost for row in board.rows) and not any(took.values()):
        return None
    columns = (
        TableCell(describe(board.primary).label, "test"),
        TableCell("Size", "as trained"),
        TableCell("Size", "8 bits"),
        TableCell("Memory", "peak"),
        TableCell("Memory", "of it the model"),
        TableCell("Texts a second", f"{MANY} at once"),
        TableCell("Texts a second", "one by one"),
        TableCell("Milliseconds a pair", "median"),
        TableCell("Milliseconds a pair", "95 of 100"),
        TableCell("Training", "seconds"),
    )
    table = Table(columns, tuple((row.name, _cells(row, board.primary, took[row.model])) for row in board.rows)).known
    figure = cost_against_quality(board)
    return Section(TITLE, figures=[figure] if figure else [], tables=[table], notes=_notes(board))


def training_seconds(row: Row, seconds: Mapping[str, float]) -> float | None:
    """Seconds of training, averaged over those seeds of which they are known."""
    known = [seconds[run.cell.name] for run in row.runs if run.cell.name in seconds]
    return sum(known) / len(known) if known else None


def in_words(run: RunFolder) -> str:
    """The cost of a model in words, as far as it was measured: `1,248,000 parameters, 5.0 MB, 23,400 texts a second`.

    Of one that scores pairs alone, `7.25 milliseconds a pair`.
    """
    parts = [f"{count(run.parameters)} parameters" if run.parameters else "no parameters"]
    if run.cost:
        parts.append(size(run.cost.model_bytes))
        if run.cost.texts_per_second_256 is not None:
            parts.append(f"{magnitude(run.cost.texts_per_second_256)} texts a second")
        else:
            parts.append(f"{magnitude(run.cost.pair_milliseconds_p50)} milliseconds a pair")
    return ", ".join(parts)


def cheapest(runs: Sequence[RunFolder]) -> RunFolder:
    """The fastest if the speed of each was measured on one processor, else the one with the fewest parameters.

    Of several with the fewest it is the fastest if these were measured so, of equals the first. An ensemble has as many
    parameters as a member if the others have none.
    """
    fewest = min(run.parameters for run in runs)
    least = [run for run in runs if run.parameters == fewest]
    return _fastest(runs) or _fastest(least) or least[0]


def _fastest(runs: Sequence[RunFolder]) -> RunFolder | None:
    """The fastest; None unless the speed of each was measured, and on one processor."""
    speeds = [run.cost.texts_per_second_256 for run in runs if run.cost and run.cost.texts_per_second_256 is not None]
    compared = len(speeds) == len(runs) and len({run.cost.processor for run in runs if run.cost}) == 1
    return runs[speeds.index(max(speeds))] if compared else None


def cost_against_quality(board: Leaderboard) -> Figure | None:
    """The primary metric on test against microseconds a text; None for fewer than two models.

    Times of two processors cannot be compared: drawn are the models of the one with the most of them.

    Raises:
        ValueError: if models were evaluated on different units.
    """
    costed = [(row, row.cost) for row in board.rows if row.cost and row.cost.texts_per_second_256]
    costed = [(row, cost) for row, cost in costed if cost.processor == _usual([cost for _, cost in costed])]
    rows = {point: row for row, cost in costed if (point := _point(row, cost, board.primary))}
    if len(rows) < 2:
        return None
    behind = rivals([*rows])
    compared = against([(rows[point], rows[best]) for point, best in behind.items()], board.primary)
    tied = [point for point, standing in zip(behind, compared, strict=True) if standing.first]
    label = describe(board.primary).label
    title = f"{label} on test against microseconds a text"
    figure = cost_figure([*rows], tied=tied, title=title, quality=f"{label}, test")
    return Figure("Quality against speed", f": {'. '.join([FIGURE, *_distinguishable(compared)])}.", figure)


def _cells(row: Row, primary: str, took: float | None) -> tuple[TableCell, ...]:
    cost = row.cost
    quality = estimate_cell(primary, row.metrics["test"].get(primary), with_interval=True)
    if cost is None:
        return quality, *[MISSING] * 8, amount(took)
    peak, before = cost.peak_memory_bytes, cost.memory_before_bytes
    return (
        quality,
        amount(cost.model_bytes, size),
        amount(cost.model_bytes_8_bits, size),
        amount(peak, size),
        amount(None if peak is None or before is None else peak - before, size),
        amount(cost.texts_per_second_256),
        amount(cost.texts_per_second_1),
        amount(cost.pair_milliseconds_p50),
        amount(cost.pair_milliseconds_p95),
        amount(took),
    )


def amount(value: float | None, show: Callable[[Any], str] = magnitude) -> TableCell:
    """A number as a cell; a dash if it is not known."""
    return MISSING if value is None else TableCell(show(value), value=value)


def _notes(board: Leaderboard) -> list[str]:
    measured = [(row, row.cost) for row in board.rows if row.cost]
    without = [row.model for row in board.rows if not row.cost]
    if not measured:
        return ["Size, memory and speed of these models are not measured yet."]
    notes = []
    processors = dict.fromkeys(cost.processor for _, cost in measured)
    if len(processors) == 1:
        notes.append(f"Observed on {next(iter(processors))}.")
    else:
        each = (f"{p}: {', '.join(r.model for r, cost in measured if cost.processor == p)}" for p in processors)
        notes.append(f"Observed on {'; on '.join(each)}. Do not compare memory and times of one with those of another.")
    if alone := [row.model for row, cost in measured if cost.texts_per_second_256 is None]:
        notes.append(f"They score pairs alone, so there is no speed of texts: {', '.join(alone)}.")
    if without:
        notes.append(f"Not measured yet: {', '.join(without)}.")
    return notes


def _distinguishable(compared: Sequence[Standing]) -> list[str]:
    """The note on the tests of the models behind the front; empty if there are none."""
    unpaired = [each.row.model for each in compared if each.against_first is None]
    if not compared:
        return []
    if len(unpaired) == len(compared):
        return [BY_INTERVALS]
    return [f"{BY_TEST}; of {', '.join(unpaired)} by overlapping intervals" if unpaired else BY_TEST]


def _usual(measured: Sequence[Cost]) -> str:
    """The processor of the most models."""
    return Counter(cost.processor for cost in measured).most_common(1)[0][0]


def _point(row: Row, cost: Cost, primary: str) -> Point | None:
    estimate = row.metrics["test"].get(primary)
    if estimate is None or estimate.mean != estimate.mean or not cost.texts_per_second_256:
        return None
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    return Point(row.model, 1e6 / cost.texts_per_second_256, estimate.mean, low, high, cost.model_bytes)

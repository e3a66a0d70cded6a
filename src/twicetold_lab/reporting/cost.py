"""What models cost beside how good they are: a table, a figure, and `cost.csv`.

Where no cost was measured yet, the primary metric and the seconds of training stand alone, and a note says so.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from markupsafe import Markup

from twicetold.files import csv_text
from twicetold_lab.reporting.cost_figure import Point, cost_figure, rivals
from twicetold_lab.reporting.dedupe import NOTHING, DedupeTable, Shown
from twicetold_lab.reporting.glossary import count, describe, magnitude, number, size
from twicetold_lab.reporting.leaderboard import Leaderboard, Row
from twicetold_lab.reporting.tiers import Standing, against
from twicetold_lab.runs.records import Run
from twicetold_lab.scoring.cost import MANY, Cost

TABLE = "cost.csv"
"""Beside the leaderboard's table."""
TITLE = "Cost"
HOW_TO_READ = (
    "Size is that of the model folder: as trained, with 32 bits a number, and with 8 bits for each number of a matrix. "
    "The command export writes the latter for static and pretrained_static; of other families it is what they would "
    "take. Sizes are exact. Memory and times were observed: a second measurement gives other ones, and those of two "
    "processors cannot be compared. Memory is the most that the process held, Python and its libraries included. "
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


@dataclass(frozen=True)
class Costs:
    """What is said of the cost of the models of one dataset.

    Args:
        is_measured: whether size, memory and speed are known of a model.
        table: the best model on validation first; columns in which nothing is known are left out.
        notes: paragraphs below it.
    """

    is_measured: bool
    table: DedupeTable
    notes: tuple[str, ...]

    @property
    def explanation(self) -> str:
        """How to read the table."""
        return f"{HOW_TO_READ} {OF_TRAINING}" if self.is_measured else OF_TRAINING


def costs(board: Leaderboard, seconds: Mapping[str, float]) -> Costs | None:
    """The cost of each model, of its run with the smallest seed that was measured; None if nothing is known.

    Args:
        board: all models.
        seconds: that a cell's training took, by the cell's name; the mean over seeds is shown.
    """
    took = {row.model: training_seconds(row, seconds) for row in board.rows}
    if not any(row.cost for row in board.rows) and not any(took.values()):
        return None
    label = describe(board.primary).label
    columns = (
        Shown(label, "test"),
        Shown("Size", "as trained"),
        Shown("Size", "8 bits"),
        Shown("Memory", "peak"),
        Shown("Memory", "of it the model"),
        Shown("Texts a second", f"{MANY} at once"),
        Shown("Texts a second", "one by one"),
        Shown("Milliseconds a pair", "median"),
        Shown("Milliseconds a pair", "95 of 100"),
        Shown("Training", "seconds"),
    )
    lines = [(Shown(row.model + row.mark), _cells(row, board.primary, took[row.model])) for row in board.rows]
    known = [i for i in range(len(columns)) if any(cells[i].text != NOTHING for _, cells in lines)]
    table = DedupeTable(
        tuple(columns[i] for i in known), tuple((name, tuple(cells[i] for i in known)) for name, cells in lines)
    )
    return Costs(any(row.cost for row in board.rows), table, tuple(_notes(board)))


def training_seconds(row: Row, seconds: Mapping[str, float]) -> float | None:
    """Seconds of training, averaged over those seeds of which they are known."""
    found = [seconds[run.cell.name] for run in row.runs if run.cell.name in seconds]
    return sum(found) / len(found) if found else None


def in_words(run: Run) -> str:
    """What a model costs, as far as it was measured: `1,248,000 parameters, 5.0 MB, 23,400 texts a second`.

    Of one that scores pairs alone, `7.25 milliseconds a pair`.
    """
    said = [f"{count(run.parameters)} parameters" if run.parameters else "no parameters"]
    if run.cost:
        said.append(size(run.cost.model_bytes))
        if run.cost.texts_per_second_256 is not None:
            said.append(f"{magnitude(run.cost.texts_per_second_256)} texts a second")
        else:
            said.append(f"{magnitude(run.cost.pair_milliseconds_p50)} milliseconds a pair")
    return ", ".join(said)


def cheapest(runs: Sequence[Run]) -> Run:
    """The fastest if the speed of each was measured on one processor, else the one with the fewest parameters.

    Of several with the fewest it is the fastest if these were measured so, of equals the first. An ensemble has as many
    parameters as a member if the others have none.
    """
    fewest = min(run.parameters for run in runs)
    least = [run for run in runs if run.parameters == fewest]
    return _fastest(runs) or _fastest(least) or least[0]


def _fastest(runs: Sequence[Run]) -> Run | None:
    """The fastest; None unless the speed of each was measured, and on one processor."""
    speeds = [run.cost.texts_per_second_256 for run in runs if run.cost and run.cost.texts_per_second_256 is not None]
    compared = len(speeds) == len(runs) and len({run.cost.processor for run in runs if run.cost}) == 1
    return runs[speeds.index(max(speeds))] if compared else None


@dataclass(frozen=True)
class Drawn:
    """The figure and its caption."""

    figure: Markup
    caption: str


def drawn(board: Leaderboard) -> Drawn | None:
    """The primary metric on test against microseconds a text; None for fewer than two models.

    Times of two processors cannot be compared: drawn are the models of the one with the most of them.

    Raises:
        ValueError: if models were evaluated on different units.
    """
    found = [(row, row.cost) for row in board.rows if row.cost and row.cost.texts_per_second_256]
    found = [(row, cost) for row, cost in found if cost.processor == _usual([cost for _, cost in found])]
    rows = {point: row for row, cost in found if (point := _point(row, cost, board.primary))}
    if len(rows) < 2:
        return None
    behind = rivals([*rows])
    compared = against([(rows[point], rows[best]) for point, best in behind.items()], board.primary)
    tied = [point for point, standing in zip(behind, compared, strict=True) if standing.first]
    label = describe(board.primary).label
    title = f"{label} on test against microseconds a text"
    figure = cost_figure([*rows], tied=tied, title=title, quality=f"{label}, test")
    return Drawn(figure, ". ".join([FIGURE, *_told_apart(compared)]))


def cost_csv(runs: Iterable[Run], seconds: Mapping[str, float]) -> str:
    """The cost of every run at full precision, a row each; what is not known is empty."""
    names = [field.name for field in fields(Cost)]
    rows = []
    for run in sorted(runs, key=lambda run: run.cell):
        known = asdict(run.cost) if run.cost else {}
        took = seconds.get(run.cell.name)
        rows.append(
            (run.cell.data, run.cell.model, run.cell.seed, _exact(took), *(_exact(known.get(n)) for n in names))
        )
    return csv_text(("data", "model", "seed", "training_seconds", *names), rows)


def _cells(row: Row, primary: str, took: float | None) -> tuple[Shown, ...]:
    cost, found = row.cost, row.metrics["test"].get(primary)
    ends = found.interval if found else None
    quality = Shown(NOTHING)
    if found:
        quality = Shown(number(found.mean), f"{number(ends[0])} to {number(ends[1])}" if ends else "", found.mean)
    if cost is None:
        return quality, *[Shown(NOTHING)] * 8, _shown(took)
    peak, before = cost.peak_memory_bytes, cost.memory_before_bytes
    return (
        quality,
        _sized(cost.model_bytes),
        _sized(cost.model_bytes_8_bits),
        _sized(peak),
        _sized(None if peak is None or before is None else peak - before),
        _shown(cost.texts_per_second_256),
        _shown(cost.texts_per_second_1),
        _shown(cost.pair_milliseconds_p50),
        _shown(cost.pair_milliseconds_p95),
        _shown(took),
    )


def _shown(value: float | None) -> Shown:
    return Shown(NOTHING) if value is None else Shown(magnitude(value), value=value)


def _sized(value: int | None) -> Shown:
    return Shown(NOTHING) if value is None else Shown(size(value), value=value)


def _exact(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


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


def _told_apart(compared: Sequence[Standing]) -> list[str]:
    """How the models behind the front were told from it; nothing if there are none."""
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
    found = row.metrics["test"].get(primary)
    if found is None or found.mean != found.mean or not cost.texts_per_second_256:
        return None
    low, high = found.interval or (found.mean, found.mean)
    return Point(row.model, 1e6 / cost.texts_per_second_256, found.mean, low, high, cost.model_bytes)

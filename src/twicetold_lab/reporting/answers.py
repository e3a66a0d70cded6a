"""Answers of the first page: for a kind of texts, what a person has, and a speed, at most six models.

A person has nothing, some answers to questions about their file, or labels. Rows are those that can be had with that:
the dedupe without a model first, then the best on validation, the cheapest that is not worse than it, and those that
follow on validation.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from twicetold_lab.evaluation.comparisons import MARGIN, TEXT_RANKING
from twicetold_lab.reporting.cost_figure import cost_against_quality
from twicetold_lab.reporting.glossary import number
from twicetold_lab.reporting.leaderboard import DEDUPE, DEFAULT, Leaderboard, Row, cheapest
from twicetold_lab.reporting.tables import Section, Table, TableCell, TableRow, command_cell, words
from twicetold_lab.reporting.uses import comparison
from twicetold_lab.runs.folder import Cell, RunFolder

GROUPS = "b3_average"
MOST = 6
"""Rows of an answer."""
NOTHING, ANSWERS, LABELS = "nothing", "answers", "labels"
HAVE = {NOTHING: "no labels", ANSWERS: "twenty answers", LABELS: "ten thousand labels"}
EARNED = {"after_20": (ANSWERS, LABELS), "after_50": (ANSWERS, LABELS), "calibrated": (LABELS,)}
"""Row of the default after so much (of `AFTER`) -> what a person must have for it."""
ANY = "any"
SPEEDS = {ANY: ("any", 0), "thousand": ("1,000 texts a second", 1_000), "many": ("20,000 texts a second", 20_000)}
"""Fewest texts a second, on one core."""
COMMAND = "twicetold dedupe FILE"
COMMANDS = {
    "": COMMAND,
    "after_20": f"{COMMAND} --ask 20",
    "after_50": f"{COMMAND} --ask 50",
    "calibrated": "twicetold label FILE; twicetold calibrate; twicetold dedupe",
}
"""Of the default, by what is known."""
HOW_TO_READ = (
    "Validation chose the models and their order; the figures are of test, and chose nothing. In brackets are 95 % "
    "intervals; that of a difference is of the paired test on the same texts. The cheapest is the fastest model whose "
    f"whole interval is above −{MARGIN:g} beside the best on validation; without an interval none is named. "
    '"Pretrained on these data" is "no" where nothing was pretrained, "listed" where the sources that are known have '
    'these data, and otherwise "not known".'
)
SEEDS = (
    "Of several seeds the mean stands with the standard deviation behind ±; intervals are those of one run, averaged, "
    "and mistakes and checks are of the smallest seed. Overlapping intervals do not mean that two models are equal. "
    "Compare within one dataset: class balance, difficulty and size differ between them."
)
THRESHOLD = "Thresholds of groups were chosen with labels of validation; the default needs none."


@dataclass(frozen=True)
class Kind:
    """A kind of texts with its dataset."""

    key: str
    title: str
    board: Leaderboard


@dataclass(frozen=True)
class Answer:
    """A table with what it answers.

    Args:
        kind: of texts.
        cases: what a person has (of `HAVE`) and how fast it must be (of `SPEEDS`); several where the rows are the same.
        section: with a table of at most `MOST` rows and the figure of the kind.
        first: the model to begin with, in short: the best on validation, or the default with answers.
    """

    kind: Kind
    cases: tuple[tuple[str, str], ...]
    section: Section
    first: str = ""


def kinds_of(boards: Mapping[str, Leaderboard]) -> list[Kind]:
    """The kinds of texts of some datasets that have run; if none has one of the first page, each dataset is a kind."""
    tables = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
    ran = {key: [boards[name] for name in about["data"] if name in boards] for key, about in tables.items()}
    kinds = [Kind(key, tables[key]["title"], of_kind[0]) for key, of_kind in ran.items() if of_kind]
    return kinds or [Kind(f"data-{place}", name, board) for place, (name, board) in enumerate(boards.items())]


def answers_of(kind: Kind, commands: Mapping[Cell, str]) -> list[Answer]:
    """Return the answers for a kind, each once for all cases that it is for.

    Args:
        kind: of texts.
        commands: that train cells.
    """
    cases: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    rows = {}
    for have in HAVE:
        for speed, (_, fewest) in SPEEDS.items():
            fast = _rows_for(kind, have, fewest)
            models = tuple(row.name.text for row in fast)
            cases.setdefault(models, []).append((have, speed))
            rows[models] = fast
    return [_answer(kind, tuple(asked), rows[models], commands) for models, asked in cases.items()]


def _rows_for(kind: Kind, have: str, fewest: int) -> list[Row]:
    """Return the rows that can be had with so much, and are so fast, by validation."""
    rows = [row for row in kind.board.ranked(measure_of(kind.board)) if have == LABELS or row.first.is_untrained]
    earned = [one for row in rows for one in row.with_answers if have in EARNED[one.after]]
    rows = [*rows, *earned]
    return [row for row in rows if not fewest or (row.texts_per_second or 0) >= fewest]


def _answer(kind: Kind, cases: tuple[tuple[str, str], ...], rows: list[Row], commands: Mapping[Cell, str]) -> Answer:
    title = f"{kind.title}: {' or '.join(dict.fromkeys(HAVE[have] for have, _ in cases))}"
    board = kind.board
    if not rows:
        return Answer(kind, cases, Section(title, ["No row is that fast."], data=board.data))
    measure = measure_of(board)
    by_text = f"{TEXT_RANKING}{board.duplicates}"
    shown, notes = _shown(rows, measure)
    others = [by_text] if by_text in board.metrics and by_text != measure else []
    table = comparison(shown, measure, board, commands=commands, others=others)
    table = replace(table, rows=tuple(_finished(row, line, notes) for row, line in zip(shown, table.rows, strict=True)))
    asked = {have for have, _ in cases} == {ANSWERS}
    named = next(row for row in shown if row.name.text in notes or (asked and row.after))
    value = named.value(measure)
    first = f"{named.name.text} {number(value.mean, 2)}" if value else ""
    sentences = [THRESHOLD] if measure.startswith("b3") else []
    figure = cost_against_quality(board, measure)
    return Answer(kind, cases, Section(title, sentences, [table], figure, data=board.data), first)


def measure_of(board: Leaderboard) -> str:
    """B-cubed of the groups of a dedupe, which answers and labels change; without it, the measure of the first use."""
    use, measure = next(iter(board.uses.items()))
    return GROUPS if use == DEDUPE and GROUPS in board.metrics else measure


def _shown(rows: Sequence[Row], measure: str) -> tuple[list[Row], dict[str, str]]:
    """Return at most `MOST` rows, those of the default first, and remarks by name."""
    best = next(row for row in rows if not row.after)
    cheap = cheapest([row for row in rows if not row.after and row.is_not_worse(best, measure)])
    ordered = [*(row for row in rows if row.model == DEFAULT), best, cheap, *rows]
    named = {row.name.text: row for row in ordered}
    notes = {best.name.text: "best on validation"}
    if cheap is not best:
        notes[cheap.name.text] = f"cheapest not worse by {MARGIN:g}"
    return [*named.values()][:MOST], notes


def _finished(row: Row, line: TableRow, notes: Mapping[str, str]) -> TableRow:
    """Return a row with its remark and, of the default, its command."""
    name, cells = line
    name = replace(name, note=", ".join(filter(None, (name.note, notes.get(name.text, "")))))
    return (name, (*cells[:-1], command_cell(COMMANDS[row.after]))) if row.model == DEFAULT else (name, cells)


def pretraining_section(boards: Sequence[Leaderboard]) -> Section | None:
    """Return the data that each pretrained model is known, or not known, to have seen: a column for each dataset."""
    rows: dict[str, list[RunFolder]] = {}
    for run in (row.first for board in boards for row in board.rows):
        if run.pretrained_on:
            rows.setdefault(" and ".join(run.pretrained_on), []).append(run)
    lines = []
    for source, runs in rows.items():
        models, exposures = dict.fromkeys(run.cell.model for run in runs), {run.cell.data: run.exposure for run in runs}
        cells = (words(exposures.get(board.data, "")) for board in boards)
        lines.append((TableCell(source), (words(", ".join(models)), *cells)))
    heads = (words("Models"), *(words(board.data) for board in boards))
    how = (
        "Listed: the sources that are known have the data. Not known is not clean: nobody has published what they are."
    )
    table = Table(heads, tuple(lines), of="pretrained on")
    return Section("Known to have seen the data", [how], [table], is_folded=True) if lines else None

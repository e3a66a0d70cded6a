"""What to take: for each use of a dataset the best model, the cheapest one tied for first, and what needs no labels.

The best is the best on validation, and so is the one without labels, among models of which nothing was trained. Test
says who is tied for first (`tiers`); of these the one that costs least is named. Of models that learnt on other data,
or whose threshold is of other data, the highest on test is. These are the two choices that test has a part in.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from twicetold_lab.reporting.cost import cheapest, in_words
from twicetold_lab.reporting.glossary import describe, number, probability
from twicetold_lab.reporting.leaderboard import MARK, Estimate, Leaderboard, Row, or_worst
from twicetold_lab.reporting.tiers import DEDUPE, GROUPS, OVERLAP, Standing, Tiers, Use, clean
from twicetold_lab.runs.records import Abroad, Cell, Run

TITLE = "What to take"
MARGIN = 0.05
"""How much lower than the highest on test the cheapest that is tied for first may be."""
LEAD = (
    "The best is chosen on validation. All figures are of test, with 95 % intervals. Tied for first are the model that "
    "is highest on test and all that a paired test on the same texts cannot tell from it."
)
HOW_TO_READ = (
    "The paired test is Student's t with the jackknife's variance, by units of texts that belong together (of verdicts "
    "about pairs that share no texts, McNemar's), at 5 %, corrected for the number of models (Holm). Where a run has "
    "not kept what that test needs, overlapping intervals count as a tie, and it is said. A tie does not say that two "
    "models are equally good, where intervals are wide least of all. So the cheapest is named of those tied that are "
    f"at most {MARGIN} lower: the fastest where the speed of all was measured on one processor, or else that with the "
    "fewest parameters, of several the fastest. Test has a part in two choices: this one, and which model from "
    "other data is named, as that is the highest on test."
)
NOT_CLEAN = (
    f"{MARK}: not clean, as texts of these data may have been among those that the model was pretrained on; a clean "
    "one is then named beside it."
)
NO_LABELS = "Without labels"
OF_A_FILE = "twicetold dedupe FILE"
"""The dedupe without a model and without labels."""
PARTS = ("tfidf_letters", "tfidf", "wordllama")
"""Models that it is made of (`trained.fitted`)."""


@dataclass(frozen=True)
class Grid:
    """What the report knows of the grid besides results."""

    commands: Mapping[Cell, str] = field(default_factory=dict)
    """The command that trains each cell; where there is none, no command is shown."""
    ensembles: Collection[Cell] = ()
    """Cells that join other ones, whose own number of epochs says nothing of them."""


@dataclass(frozen=True)
class Sentence:
    """One answer."""

    head: str
    model: str
    """With its mark; empty where there is none."""
    said: str
    command: str = ""


@dataclass(frozen=True)
class Answer:
    """What to take for one use."""

    tiers: Tiers
    sentences: tuple[Sentence, ...]

    @property
    def use(self) -> Use:
        """The use."""
        return self.tiers.use

    @property
    def named(self) -> tuple[Row, ...]:
        """The best, and the cheapest that is tied for first."""
        best, cheap = self.tiers.chosen, _cheapest_of(_near(self.tiers))
        return (best,) if cheap is best else (best, cheap)


def how_to_read(boards: Iterable[Leaderboard]) -> str:
    """How to read the answers about some datasets."""
    marked = any(row.mark for board in boards for row in board.rows)
    return f"{HOW_TO_READ} {NOT_CLEAN}" if marked else HOW_TO_READ


def answers(
    board: Leaderboard, compared: Sequence[Tiers], *, grid: Grid | None = None, elsewhere: Sequence[Abroad] = ()
) -> tuple[Answer, ...]:
    """The answers for each use of a dataset.

    Args:
        board: of the dataset.
        compared: its models for each use, from `all_tiers`.
        grid: commands and ensembles.
        elsewhere: results of models on data that they did not learn from.
    """
    known = grid or Grid()
    found = []
    for each in compared:
        if each.use.title == GROUPS:
            continue
        sentences = [_best(each, known), _cheapest(each, known), _without_labels(board, each, known, elsewhere)]
        sentences += [_of_a_file(each)] if each.use.title == DEDUPE else []
        found.append(Answer(each, tuple(sentences)))
    return tuple(found)


def _best(found: Tiers, grid: Grid) -> Sentence:
    row = found.chosen
    said, standing, top = [_figure(found, row), in_words(row.first)], found.of(row), found.standings[0]
    if standing is top:
        said.append("also the highest on test")
    elif standing.first:
        said.append(f"tied for first with {_name(top.row)}, {number(top.value.mean)}{_compared(standing)}")
    else:
        said.append(f"but {_name(top.row)} is higher on test, {number(top.value.mean)}{_compared(standing)}")
    if not row.first.is_clean:
        said.append(_clean_one(_best_on_validation(found, clean([each.row for each in found.standings])), found))
    return Sentence("Best", _name(row), _joined(said), grid.commands.get(row.first.cell, ""))


def _cheapest(found: Tiers, grid: Grid) -> Sentence:
    head = "Cheapest tied for first"
    rows, top = _near(found), found.standings[0]
    row = _cheapest_of(rows)
    tied = _number_tied(found, len(rows))
    if row is found.chosen:
        return Sentence(head, _name(row), f"The best is also the cheapest; {tied}.")
    said = [_figure(found, row), in_words(row.first), tied]
    if row is not top.row:
        said.append(f"not told from {_name(top.row)}{_compared(found.of(row))}")
    elif len(rows) > 1:
        said.append("the highest on test")
    if not row.first.is_clean:
        others = clean(rows)
        said.append(_clean_one(_cheapest_of(others), found) if others else "no clean one is tied for first")
    return Sentence(head, _name(row), _joined(said), grid.commands.get(row.first.cell, ""))


def _without_labels(board: Leaderboard, found: Tiers, grid: Grid, elsewhere: Sequence[Abroad]) -> Sentence:
    use, strange = found.use, _from_elsewhere(board.data, found.use, elsewhere)
    untrained = [each.row for each in found.standings if _is_untrained(each.row.runs, grid)]
    row = None if use.needs_threshold else _best_on_validation(found, untrained)
    if row is None and strange is None:
        needed = ": a threshold needs labels, of these data or of others" if use.needs_threshold else ""
        return Sentence(NO_LABELS, "", f"None was measured{needed}.")
    said_of_strange = ""
    if strange is not None:
        untrained_there = _is_untrained([strange.run], grid)
        source = f"{'threshold of' if untrained_there else 'trained on'} {strange.run.cell.data}"
        said_of_strange = f"{_shown(use, _of_abroad(strange, board.data, use))}, {source}"
    if row is None:
        assert strange is not None
        said = [said_of_strange, in_words(strange.run), "the highest on test of the models from other data"]
        mark = "" if strange.is_clean_of(board.data) else f" {MARK}"
        command = grid.commands.get(strange.run.cell, "")
        return Sentence(NO_LABELS, strange.run.cell.model + mark, _joined(said), command)
    standing = found.of(row)
    said = [f"{_shown(use, standing.value)} as it is", in_words(row.first)]
    said.append(_tied(found, standing) if standing.first else f"behind the first{_compared(standing)}")
    if not row.first.is_clean:
        said.append(_clean_one(_best_on_validation(found, clean(untrained)), found))
    if strange is not None and not untrained_there:
        mark = "" if strange.is_clean_of(board.data) else f" {MARK}"
        said.append(f"from other data at most {strange.run.cell.model}{mark}, {said_of_strange}")
    return Sentence(NO_LABELS, _name(row), _joined(said), grid.commands.get(row.first.cell, ""))


def _of_a_file(found: Tiers) -> Sentence:
    """What the dedupe without a model is made of, as far as it was measured."""
    rows = {each.row.model: each for each in found.standings}
    parts = [f"{_name(rows[part].row)} {number(rows[part].value.mean)}" for part in PARTS if part in rows]
    said = ["letters, words and ready-made vectors together, and a threshold that is guessed from the file"]
    said += [f"of its parts alone: {', '.join(parts)}"] if parts else []
    return Sentence("From a file alone", "", _joined(said), OF_A_FILE)


def _is_untrained(runs: Sequence[Run], grid: Grid) -> bool:
    return all(run.epochs == 0 and run.cell not in grid.ensembles for run in runs)


def _from_elsewhere(data: str, use: Use, elsewhere: Sequence[Abroad]) -> Abroad | None:
    """The highest on test of what did not learn from these data."""
    found = [one for one in elsewhere if one.run.cell.data != data and use.measure in one.metrics.get(data, {})]
    return max(found, key=lambda one: one.metrics[data][use.measure], default=None)


def _of_abroad(one: Abroad, data: str, use: Use) -> Estimate:
    return Estimate(one.metrics[data][use.measure], None, one.intervals.get(data, {}).get(use.measure))


def _near(found: Tiers) -> list[Row]:
    """The models that are tied for first and little lower than the highest."""
    top = found.standings[0].value.mean
    return [each.row for each in found.first if top - each.value.mean <= MARGIN]


def _number_tied(found: Tiers, near: int) -> str:
    count = len(found.first)
    if count == 1:
        return "no other model is tied with it"
    among = "" if near == count else f", {near} of them at most {MARGIN} lower"
    return f"of {count} tied{_by_overlap(found)}{among}"


def _cheapest_of(rows: Sequence[Row]) -> Row:
    named = cheapest([row.first for row in rows])
    return next(row for row in rows if row.first is named)


def _best_on_validation(found: Tiers, rows: Sequence[Row]) -> Row | None:
    measure = found.use.measure
    return max(rows, key=lambda row: or_worst(row.metrics["val"].get(measure)), default=None)


def _clean_one(row: Row | None, found: Tiers) -> str:
    if row is None:
        return "no clean one was measured"
    standing = found.of(row)
    tied = f", {_tied(found, standing)}" if standing.first else ""
    return f"clean: {row.model}, {number(standing.value.mean)}{tied}"


def _tied(found: Tiers, standing: Standing) -> str:
    """That a model is tied for first, and whether that is by overlapping intervals alone."""
    return f"tied for first{_compared(standing) if _is_unpaired(found, standing) else ''}"


def _by_overlap(found: Tiers) -> str:
    """How many of those that are tied were not compared in pairs."""
    unpaired = sum(_is_unpaired(found, standing) for standing in found.first)
    return f", {unpaired} of them by overlapping intervals" if unpaired else ""


def _is_unpaired(found: Tiers, standing: Standing) -> bool:
    return standing is not found.standings[0] and standing.p_value is None


def _name(row: Row) -> str:
    return row.model + row.mark


def _figure(found: Tiers, row: Row) -> str:
    """The measure of a row; of a dedupe the agreement of its groups as well."""
    groups = row.metrics["test"].get("ari") if found.use.title == DEDUPE else None
    return _shown(found.use, found.of(row).value) + (f", ARI of groups {number(groups.mean)}" if groups else "")


def _shown(use: Use, value: Estimate) -> str:
    metric = describe(use.measure)
    ends = f" ({number(value.interval[0])} to {number(value.interval[1])})" if value.interval else ""
    return f"{metric.label} {metric.show(value.mean)}{ends}"


def _compared(standing: Standing) -> str:
    """How it was compared with the highest on test, in brackets."""
    test = standing.against_first
    if test is None or standing.p_value is None:
        return f" ({OVERLAP})" if standing.first else " (intervals apart)"
    ends = f"{test.low:+.3f} to {test.high:+.3f}"
    return f" (paired difference {test.difference:+.3f}, {ends}; corrected p {probability(standing.p_value)})"


def _joined(parts: Sequence[str]) -> str:
    said = "; ".join(parts) + "."
    return said[:1].upper() + said[1:]

"""Recommendations: for each use of a dataset the best model, the cheapest one tied for first, and what needs no labels.

The best is the best on validation, and so is the one without labels, among models of which nothing was trained. Test
says who is tied for first (`tiers`); of these the one that costs least is named. Of models that learnt on other data,
or whose threshold is of other data, the highest on test is. These are the two choices that test has a part in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from twicetold_lab.reporting.cost import cheapest, in_words
from twicetold_lab.reporting.glossary import describe, number, probability
from twicetold_lab.reporting.grid import Grid
from twicetold_lab.reporting.leaderboard import MARK, Leaderboard, Row, or_worst
from twicetold_lab.reporting.tables import Estimate, Section, Table, TableCell, TableRow, words
from twicetold_lab.reporting.tiers import DEDUPE, GROUPS, OVERLAP, Standing, Tiers, Use, clean
from twicetold_lab.runs.folder import RunFolder

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
class Recommendation:
    """One model to take."""

    head: str
    model: str
    """With its mark; empty where there is none."""
    reason: str
    command: str = ""


@dataclass(frozen=True)
class UseRecommendation:
    """The recommendations for one use."""

    tiers: Tiers
    rows: tuple[Recommendation, ...]

    @property
    def named(self) -> tuple[Row, ...]:
        """The best, and the cheapest that is tied for first."""
        best, cheap = self.tiers.chosen, _cheapest_of(_within_margin(self.tiers))
        return (best,) if cheap is best else (best, cheap)


def how_to_read(boards: Iterable[Leaderboard]) -> str:
    """Reading guide for the recommendations of some datasets."""
    marked = any(row.mark for board in boards for row in board.rows)
    return f"{HOW_TO_READ} {NOT_CLEAN}" if marked else HOW_TO_READ


def recommend(
    board: Leaderboard, uses: Sequence[Tiers], *, grid: Grid | None = None, cross_domain: Sequence[RunFolder] = ()
) -> tuple[UseRecommendation, ...]:
    """The recommendations for each use of a dataset.

    Args:
        board: of the dataset.
        uses: its models for each use, from `all_tiers`.
        grid: commands and ensembles.
        cross_domain: models that were evaluated on data that they did not learn from.
    """
    known, made = grid or Grid(), []
    for tiers in uses:
        if tiers.use.title == GROUPS:
            continue
        rows = [_best(tiers, known), _cheapest(tiers, known), _without_labels(board, tiers, known, cross_domain)]
        rows += [_of_a_file(tiers)] if tiers.use.title == DEDUPE else []
        made.append(UseRecommendation(tiers, tuple(rows)))
    return tuple(made)


def recommendation_section(board: Leaderboard, made: Sequence[UseRecommendation], notes: Sequence[str]) -> Section:
    """The recommendations for one dataset, a table for each use, below remarks."""
    heads = (words("Model"), words("Why"), words("Command"))
    parts = [
        Section(each.tiers.use.heading, tables=[Table(heads, tuple(map(_as_row, each.rows)), of="take")])
        for each in made
    ]
    return Section(f"{board.data}: {TITLE.lower()}", notes, parts=parts, data=board.data)


def _as_row(one: Recommendation) -> TableRow:
    command = TableCell(one.command, value=None, is_code=True) if one.command else words("")
    return TableCell(one.head), (replace(words(one.model), strong=bool(one.model)), words(one.reason), command)


def _best(tiers: Tiers, grid: Grid) -> Recommendation:
    row = tiers.chosen
    reasons, standing, top = [_figure(tiers, row), in_words(row.first)], tiers.of(row), tiers.standings[0]
    if standing is top:
        reasons.append("also the highest on test")
    elif standing.first:
        reasons.append(f"tied for first with {_name(top.row)}, {number(top.value.mean)}{_compared(standing)}")
    else:
        reasons.append(f"but {_name(top.row)} is higher on test, {number(top.value.mean)}{_compared(standing)}")
    if not row.first.is_clean:
        reasons.append(_clean_one(_best_on_validation(tiers, clean([each.row for each in tiers.standings])), tiers))
    return Recommendation("Best", _name(row), _joined(reasons), grid.commands.get(row.first.cell, ""))


def _cheapest(tiers: Tiers, grid: Grid) -> Recommendation:
    head = "Cheapest tied for first"
    rows, top = _within_margin(tiers), tiers.standings[0]
    row = _cheapest_of(rows)
    tied = _number_tied(tiers, len(rows))
    if row is tiers.chosen:
        return Recommendation(head, _name(row), f"The best is also the cheapest; {tied}.")
    reasons = [_figure(tiers, row), in_words(row.first), tied]
    if row is not top.row:
        reasons.append(f"not told from {_name(top.row)}{_compared(tiers.of(row))}")
    elif len(rows) > 1:
        reasons.append("the highest on test")
    if not row.first.is_clean:
        others = clean(rows)
        reasons.append(_clean_one(_cheapest_of(others), tiers) if others else "no clean one is tied for first")
    return Recommendation(head, _name(row), _joined(reasons), grid.commands.get(row.first.cell, ""))


def _without_labels(board: Leaderboard, tiers: Tiers, grid: Grid, cross_domain: Sequence[RunFolder]) -> Recommendation:
    use, other = tiers.use, _best_from_other_data(board.data, tiers.use, cross_domain)
    untrained = [each.row for each in tiers.standings if _is_untrained(each.row.runs, grid)]
    row = None if use.needs_threshold else _best_on_validation(tiers, untrained)
    if row is None and other is None:
        needed = ": a threshold needs labels, of these data or of others" if use.needs_threshold else ""
        return Recommendation(NO_LABELS, "", f"None was measured{needed}.")
    of_other = ""
    if other is not None:
        other_is_untrained = _is_untrained([other], grid)
        source = f"{'threshold of' if other_is_untrained else 'trained on'} {other.cell.data}"
        of_other = f"{_shown(use, _cross_domain_estimate(other, board.data, use))}, {source}"
    if row is None:
        assert other is not None
        reasons = [of_other, in_words(other), "the highest on test of the models from other data"]
        mark = "" if other.is_clean_of(board.data) else f" {MARK}"
        command = grid.commands.get(other.cell, "")
        return Recommendation(NO_LABELS, other.cell.model + mark, _joined(reasons), command)
    standing = tiers.of(row)
    reasons = [f"{_shown(use, standing.value)} as it is", in_words(row.first)]
    reasons.append(_tied(tiers, standing) if standing.first else f"behind the first{_compared(standing)}")
    if not row.first.is_clean:
        reasons.append(_clean_one(_best_on_validation(tiers, clean(untrained)), tiers))
    if other is not None and not other_is_untrained:
        mark = "" if other.is_clean_of(board.data) else f" {MARK}"
        reasons.append(f"from other data at most {other.cell.model}{mark}, {of_other}")
    return Recommendation(NO_LABELS, _name(row), _joined(reasons), grid.commands.get(row.first.cell, ""))


def _of_a_file(tiers: Tiers) -> Recommendation:
    """The dedupe without a model, with its parts as far as they were measured."""
    rows = {each.row.model: each for each in tiers.standings}
    parts = [f"{_name(rows[part].row)} {number(rows[part].value.mean)}" for part in PARTS if part in rows]
    reasons = ["letters, words and ready-made vectors together, and a matcher that was learnt on other files"]
    reasons += [f"of its parts alone: {', '.join(parts)}"] if parts else []
    return Recommendation("From a file alone", "", _joined(reasons), OF_A_FILE)


def _is_untrained(runs: Sequence[RunFolder], grid: Grid) -> bool:
    return all(run.epochs == 0 and run.cell not in grid.ensembles for run in runs)


def _best_from_other_data(data: str, use: Use, cross_domain: Sequence[RunFolder]) -> RunFolder | None:
    """The highest on test of what did not learn from these data."""
    others = [one for one in cross_domain if one.cell.data != data and data in one.cross_domain]
    measured = [one for one in others if use.measure in one.cross_domain[data].metrics]
    return max(measured, key=lambda one: one.cross_domain[data].metrics[use.measure], default=None)


def _cross_domain_estimate(one: RunFolder, data: str, use: Use) -> Estimate:
    found = one.cross_domain[data]
    return Estimate(found.metrics[use.measure], None, found.intervals.get(use.measure))


def _within_margin(tiers: Tiers) -> list[Row]:
    """The models that are tied for first and little lower than the highest."""
    top = tiers.standings[0].value.mean
    return [each.row for each in tiers.first if top - each.value.mean <= MARGIN]


def _number_tied(tiers: Tiers, within: int) -> str:
    count = len(tiers.first)
    if count == 1:
        return "no other model is tied with it"
    among = "" if within == count else f", {within} of them at most {MARGIN} lower"
    return f"of {count} tied{_by_overlap(tiers)}{among}"


def _cheapest_of(rows: Sequence[Row]) -> Row:
    named = cheapest([row.first for row in rows])
    return next(row for row in rows if row.first is named)


def _best_on_validation(tiers: Tiers, rows: Sequence[Row]) -> Row | None:
    measure = tiers.use.measure
    return max(rows, key=lambda row: or_worst(row.metrics["val"].get(measure)), default=None)


def _clean_one(row: Row | None, tiers: Tiers) -> str:
    if row is None:
        return "no clean one was measured"
    standing = tiers.of(row)
    tied = f", {_tied(tiers, standing)}" if standing.first else ""
    return f"clean: {row.model}, {number(standing.value.mean)}{tied}"


def _tied(tiers: Tiers, standing: Standing) -> str:
    """A model's tie for first in words, and whether it is by overlapping intervals alone."""
    return f"tied for first{_compared(standing) if _is_unpaired(tiers, standing) else ''}"


def _by_overlap(tiers: Tiers) -> str:
    """The number of tied models that were not compared in pairs."""
    unpaired = sum(_is_unpaired(tiers, standing) for standing in tiers.first)
    return f", {unpaired} of them by overlapping intervals" if unpaired else ""


def _is_unpaired(tiers: Tiers, standing: Standing) -> bool:
    return standing is not tiers.standings[0] and standing.p_value is None


def _name(row: Row) -> str:
    return row.model + row.mark


def _figure(tiers: Tiers, row: Row) -> str:
    """The measure of a row; of a dedupe the agreement of its groups as well."""
    groups = row.metrics["test"].get("ari") if tiers.use.title == DEDUPE else None
    return _shown(tiers.use, tiers.of(row).value) + (f", ARI of groups {number(groups.mean)}" if groups else "")


def _shown(use: Use, value: Estimate) -> str:
    metric = describe(use.measure)
    ends = f" ({number(value.interval[0])} to {number(value.interval[1])})" if value.interval else ""
    return f"{metric.label} {metric.show(value.mean)}{ends}"


def _compared(standing: Standing) -> str:
    """The result of the comparison with the highest on test, in brackets."""
    test = standing.against_first
    if test is None or standing.p_value is None:
        return f" ({OVERLAP})" if standing.first else " (intervals apart)"
    ends = f"{test.low:+.3f} to {test.high:+.3f}"
    return f" (paired difference {test.difference:+.3f}, {ends}; corrected p {probability(standing.p_value)})"


def _joined(parts: Sequence[str]) -> str:
    reasons = "; ".join(parts) + "."
    return reasons[:1].upper() + reasons[1:]

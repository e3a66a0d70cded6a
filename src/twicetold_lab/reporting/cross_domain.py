"""Across domains: where a model learnt, against where it is used.

One table says how well each model ranks the pairs of each dataset, the other how good the threshold is that it brings.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from twicetold_lab.reporting.glossary import count, describe, number
from twicetold_lab.reporting.leaderboard import MARK
from twicetold_lab.reporting.tables import MISSING, Section, Table, TableCell, words
from twicetold_lab.runs.folder import Cell, RunFolder

TITLE = "Across domains"
HOW_TO_READ = (
    "Each model is used on test texts of data that it did not learn from, as by a person without labels, and on its "
    'own. The column "learnt on" names the data of its training and of its threshold; "nothing" is written where both '
    "vectors and weights came ready-made, so that only the threshold is of the data named beside it. Values on a "
    "model's own data are marked as own. In brackets are 95 % intervals of the test data; "
    f"{MARK} stands where texts of these data may have been among those that a model was pretrained on.",
    "Ranking: average precision over all pairs of texts, of graded pairs Pearson's correlation; a threshold plays no "
    "part.",
    "Decisions: the threshold that was chosen on validation of a model's own data, about its finest label, on the "
    "others' test. Of documents F1 over all pairs of texts, of labelled pairs (graded ones from the positive grade on) "
    "accuracy and F1. The last row calls every pair the same. A dash: the model has no vector for each text, or gives "
    "no verdict.",
)
NOTHING = "nothing"
_RANKING = ("average_precision", "pearson")
_DECISIONS = ("accuracy", "f1")


def cross_domain_section(runs: Sequence[RunFolder], ensembles: Collection[Cell] = ()) -> Section | None:
    """The tables; None if no model was used on other data.

    Args:
        runs: models that were evaluated on other data.
        ensembles: those of them that join others, whose own number of epochs says nothing of them.
    """
    if not runs:
        return None
    data = list(dict.fromkeys([*(run.cell.data for run in runs), *(name for run in runs for name in run.cross_domain)]))
    made = {run.cell for run in runs if run.pretrained_on and not run.epochs and run.cell not in ensembles}
    # a ready-made model ranks alike wherever its threshold comes from: once is enough
    alike = {(run.cell.model if run.cell in made else run.cell.name): run for run in reversed(runs)}
    once = [run for run in runs if run in alike.values()]
    decisions = _table(runs, data, _DECISIONS, made)
    decisions = replace(decisions, rows=(*decisions.rows, _every_pair(runs, data)))
    parts = [
        Section("Ranking", tables=[_table(once, data, _RANKING, made)]),
        Section("Decisions", tables=[decisions], notes=_notes(runs, once, data, made)),
    ]
    return Section(TITLE, HOW_TO_READ, parts=parts, anchor="cross-domain")


def _learnt_on(one: RunFolder, made: Collection[Cell]) -> str:
    """The data that it learnt on: nothing if its cell is in `made`, as nothing of it was trained here."""
    return NOTHING if one.cell in made else one.cell.data


def _table(runs: Sequence[RunFolder], data: Sequence[str], stems: Sequence[str], made: Collection[Cell]) -> Table:
    columns = [(name, metric) for name in data for metric in _metrics(runs, name, stems)]
    heads = (words("Learnt on"), *(TableCell(name, describe(metric).label) for name, metric in columns))
    ordered = sorted(runs, key=lambda one: _learnt_on(one, made) != NOTHING)
    cells = ((_source(one, stems, made), *(_value(one, *column, made) for column in columns)) for one in ordered)
    return Table(heads, tuple(zip((TableCell(one.cell.model) for one in ordered), cells, strict=True)))


def _source(one: RunFolder, stems: Sequence[str], made: Collection[Cell]) -> TableCell:
    note = f"threshold: {one.cell.data}" if stems is _DECISIONS and _learnt_on(one, made) == NOTHING else ""
    return words(_learnt_on(one, made), note)


def _metrics(runs: Sequence[RunFolder], name: str, stems: Sequence[str]) -> list[str]:
    """The metrics of a dataset, by stem; Pearson's correlation stands for average precision where there are grades."""
    measured = dict.fromkeys(metric for one in runs for metric in _results(one, name))
    shown = [metric for stem in stems for metric in measured if describe(metric).stem == stem]
    return shown[-1:] if stems is _RANKING else shown


def _value(one: RunFolder, name: str, metric: str, made: Collection[Cell]) -> TableCell:
    if (value := _results(one, name).get(metric)) is None:
        return MISSING
    interval = one.cross_domain[name].intervals.get(metric)
    own = "own" if name == one.cell.data and _learnt_on(one, made) != NOTHING else ""
    seen = "" if one.is_clean_of(name) else MARK
    return TableCell(number(value), ", ".join(filter(None, (own, seen))), value, interval)


def _results(one: RunFolder, data: str) -> Mapping[str, float]:
    """Its metrics on the test texts of a dataset; empty if it was not evaluated there."""
    return one.cross_domain[data].metrics if data in one.cross_domain else {}


def _every_pair(runs: Sequence[RunFolder], data: Sequence[str]) -> tuple[TableCell, tuple[TableCell, ...]]:
    """The row of a model that calls every pair the same."""
    cells = [words("")]
    for name in data:
        share = next((m["same_share"] for one in runs if "same_share" in (m := _results(one, name))), math.nan)
        values = {"accuracy": share, "f1": 2 * share / (1 + share)}
        shown = (values[metric] for metric in _metrics(runs, name, _DECISIONS))
        cells += [TableCell(number(value), value=value) for value in shown]
    return TableCell("every pair the same"), tuple(cells)


def _notes(
    runs: Sequence[RunFolder], once: Sequence[RunFolder], data: Sequence[str], made: Collection[Cell]
) -> list[str]:
    notes = [note for name in data for note in _finding(once, name, made)]
    known = [(run.cell.data, name, each.shared_texts) for run in runs for name, each in run.cross_domain.items()]
    shared = {f"{own} and {other} {count(texts)}": None for own, other, texts in known if texts}
    if shared:
        counts = ", ".join(shared)
        notes.append(f"Test texts of the second that train or validation of the first has: {counts}.")
    pretrained = {one.cell.model: " and ".join(one.pretrained_on) for one in runs if one.pretrained_on}
    return notes + [f"{model} had been pretrained on {what}." for model, what in pretrained.items()]


def _finding(runs: Sequence[RunFolder], name: str, made: Collection[Cell]) -> list[str]:
    """Who ranks a dataset best without having learnt on it, and who does of those that have."""
    if not (metrics := _metrics(runs, name, _RANKING)):
        return []
    valued = [one for one in runs if metrics[0] in _results(one, name)]
    others = [one for one in valued if one.cell.data != name or _learnt_on(one, made) == NOTHING]
    own = [one for one in valued if one not in others]
    best = [max(each, key=lambda one: _results(one, name)[metrics[0]]) for each in (others, own) if each]
    if len(best) < 2:
        return []
    named = [f"{one.cell.model} ({number(_results(one, name)[metrics[0]])})" for one in best]
    of = "ready-made" if _learnt_on(best[0], made) == NOTHING else f"learnt on {best[0].cell.data}"
    untaught = f"of the models that did not learn on it {named[0]}, {of}, ranks best on test"
    return [f"{name}: {untaught}; of the others {named[1]}."]

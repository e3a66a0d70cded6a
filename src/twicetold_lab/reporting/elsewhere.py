"""Across domains: where a model learnt, against where it is used.

One table says how well each model ranks the pairs of each dataset, the other how good the threshold is that it brings.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from twicetold_lab.reporting.dedupe import DedupeTable, Shown
from twicetold_lab.reporting.glossary import count, describe, number
from twicetold_lab.reporting.leaderboard import MARK
from twicetold_lab.runs.records import Abroad, Cell

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


@dataclass(frozen=True)
class Matrices:
    """What is said of models on other data."""

    ranking: DedupeTable
    decisions: DedupeTable
    notes: tuple[str, ...]
    """Sentences below the tables."""


def matrices(found: Sequence[Abroad], ensembles: Collection[Cell] = ()) -> Matrices | None:
    """The tables; None if no model was used on other data.

    Args:
        found: results of models on other data.
        ensembles: those of them that join others, whose own number of epochs says nothing of them.
    """
    if not found:
        return None
    data = list(
        dict.fromkeys([*(one.run.cell.data for one in found), *(name for one in found for name in one.metrics)])
    )
    made = {one.run.cell for one in found if _is_ready_made(one) and one.run.cell not in ensembles}
    # a ready-made model ranks alike wherever its threshold comes from: once is enough
    alike = {(one.run.cell.model if one.run.cell in made else one.run.cell.name): one for one in reversed(found)}
    once = [one for one in found if one in alike.values()]
    ranking = _table(once, data, _RANKING, made)
    decisions = _table(found, data, _DECISIONS, made)
    decisions = replace(decisions, rows=(*decisions.rows, _every_pair(found, data)))
    return Matrices(ranking, decisions, tuple(_notes(found, once, data, made)))


def _is_ready_made(one: Abroad) -> bool:
    """Whether a model of one encoder was pretrained, and nothing of it was trained here, whatever its size."""
    return bool(one.run.pretrained_on) and not one.run.epochs


def _learnt_on(one: Abroad, made: Collection[Cell]) -> str:
    return NOTHING if one.run.cell in made else one.run.cell.data


def _table(found: Sequence[Abroad], data: Sequence[str], stems: Sequence[str], made: Collection[Cell]) -> DedupeTable:
    columns = [(name, metric) for name in data for metric in _metrics(found, name, stems)]
    heads = (Shown("Learnt on", value=None), *(Shown(name, describe(metric).label) for name, metric in columns))
    ordered = sorted(found, key=lambda one: _learnt_on(one, made) != NOTHING)
    return DedupeTable(
        heads,
        tuple(
            (
                Shown(one.run.cell.model),
                (_source(one, stems, made), *(_value(one, *column, made) for column in columns)),
            )
            for one in ordered
        ),
    )


def _source(one: Abroad, stems: Sequence[str], made: Collection[Cell]) -> Shown:
    note = f"threshold: {one.run.cell.data}" if stems is _DECISIONS and _learnt_on(one, made) == NOTHING else ""
    return Shown(_learnt_on(one, made), note, None)


def _metrics(found: Sequence[Abroad], name: str, stems: Sequence[str]) -> list[str]:
    """The metrics of a dataset, by stem; Pearson's correlation stands for average precision where there are grades."""
    there = dict.fromkeys(metric for one in found for metric in one.metrics.get(name, {}))
    shown = [metric for stem in stems for metric in there if describe(metric).stem == stem]
    return shown[-1:] if stems is _RANKING else shown


def _value(one: Abroad, name: str, metric: str, made: Collection[Cell]) -> Shown:
    if (value := one.metrics.get(name, {}).get(metric)) is None:
        return Shown("–")
    ends = one.intervals.get(name, {}).get(metric)
    own = "own" if name == one.run.cell.data and _learnt_on(one, made) != NOTHING else ""
    seen = "" if one.is_clean_of(name) else MARK
    spread = f"{number(ends[0])} to {number(ends[1])}" if ends else ""
    return Shown(number(value), ", ".join(filter(None, (spread, own, seen))), value)


def _every_pair(found: Sequence[Abroad], data: Sequence[str]) -> tuple[Shown, tuple[Shown, ...]]:
    """The row of a model that calls every pair the same."""
    cells = [Shown("–", value=None)]
    for name in data:
        share = next((m["same_share"] for one in found if "same_share" in (m := one.metrics.get(name, {}))), math.nan)
        values = {"accuracy": share, "f1": 2 * share / (1 + share)}
        cells += [Shown(number(values[metric]), value=values[metric]) for metric in _metrics(found, name, _DECISIONS)]
    return Shown("every pair the same"), tuple(cells)


def _notes(found: Sequence[Abroad], once: Sequence[Abroad], data: Sequence[str], made: Collection[Cell]) -> list[str]:
    notes = [note for name in data for note in _finding(once, name, made)]
    shared = {f"{one.run.cell.data} and {name}": n for one in found for name, n in one.shared.items() if n}
    if shared:
        counts = ", ".join(f"{both} {count(texts)}" for both, texts in shared.items())
        notes.append(f"Test texts of the second that train or validation of the first has: {counts}.")
    pretrained = {one.run.cell.model: one.run.pretrained_on for one in found if one.run.pretrained_on}
    return notes + [f"{model} had been pretrained on {what}." for model, what in pretrained.items()]


def _finding(found: Sequence[Abroad], name: str, made: Collection[Cell]) -> list[str]:
    """Who ranks a dataset best without having learnt on it, and who does of those that have."""
    if not (metrics := _metrics(found, name, _RANKING)):
        return []
    valued = [one for one in found if metrics[0] in one.metrics.get(name, {})]
    strange = [one for one in valued if one.run.cell.data != name or _learnt_on(one, made) == NOTHING]
    own = [one for one in valued if one not in strange]
    best = [max(each, key=lambda one: one.metrics[name][metrics[0]]) for each in (strange, own) if each]
    if len(best) < 2:
        return []
    said = [f"{one.run.cell.model} ({number(one.metrics[name][metrics[0]])})" for one in best]
    of = "ready-made" if _learnt_on(best[0], made) == NOTHING else f"learnt on {best[0].run.cell.data}"
    return [
        f"{name}: of the models that did not learn on it {said[0]}, {of}, ranks best on test; of the others {said[1]}."
    ]

"""What each variant of a training is worth: a table per dataset and family, in the order of the grid.

Test is shown beside validation and orders nothing. Intervals are of the choice of test pairs; `±` is the standard
deviation over seeds. The last column compares a variant with the first one on the same test pairs, seed by seed, and in
brackets is the 95 % interval of that difference (DeLong, DeLong and Clarke-Pearson 1988) for the first seed: where it
covers 0, that seed's test pairs do not tell the two apart.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from twicetold.reporting.comparison import require_same_pairs
from twicetold.reporting.glossary import describe
from twicetold.reporting.leaderboard import Row, rank
from twicetold.reporting.markdown import estimate, interval, table
from twicetold.reporting.records import Cell, read_runs, read_scores

ACCURACY = "accuracy"


def ablation(cells: Sequence[Cell], variants: Sequence[str], *, runs: Path) -> str:
    """Markdown tables of all variants of the given cells.

    Args:
        cells: of the grid.
        variants: names; the others are compared with the first.
        runs: folder with a folder of run folders for each variant.

    Raises:
        ValueError: if two variants of a family were scored on different pairs.
        FileNotFoundError: if a variant of a cell was not trained or not evaluated.
    """
    boards = {
        (variant, data): rank(data, found)
        for variant in variants
        for data, found in read_runs(cells, runs / variant).items()
    }
    parts = []
    for data in dict.fromkeys(cell.data for cell in cells):
        for model in dict.fromkeys(cell.model for cell in cells):
            rows = {v: next(row for row in boards[v, data].rows if row.model == model) for v in variants}
            parts += [f"### {data}, {model}\n", _table(rows, boards[variants[0], data].primary)]
    return "\n".join(parts)


def _table(rows: dict[str, Row], primary: str) -> str:
    shown = [primary, *(name for name in (ACCURACY,) if all(name in row.metrics["test"] for row in rows.values()))]
    heads = [""]
    for name in shown:
        label = describe(name).label
        heads += [f"{label}, validation", f"{label}, test", "95 % interval"]
    heads.append(f"{describe(primary).label}, test, against the first")
    first = next(iter(rows.values()))
    lines = []
    for variant, row in rows.items():
        cells = [variant]
        for name in shown:
            test = row.metrics["test"].get(name)
            cells += [estimate(name, row.metrics["val"].get(name)), estimate(name, test), interval(test)]
        lines.append([*cells, "" if row is first else _difference(first, row, primary)])
    return table(heads, lines)


def _difference(first: Row, other: Row, metric: str) -> str:
    """Mean over seeds of the difference, and its interval for the first seed."""
    pairs = zip(first.runs, other.runs, strict=True)
    found = [b.metrics["test"][metric] - a.metrics["test"][metric] for a, b in pairs]
    text = f"{statistics.fmean(found):+.4f}" + (f" ± {statistics.stdev(found):.4f}" if len(found) > 1 else "")
    before, after = read_scores(first.first), read_scores(other.first)
    if metric != "auroc" or before is None or after is None:
        return text
    require_same_pairs(first, before, other, after)
    from twicetold.evaluation.intervals import paired_auroc_test  # SciPy takes a second to import

    paired = paired_auroc_test(after.score, before.score, after.label > 0.5)
    return f"{text} ({paired.low:+.4f} to {paired.high:+.4f})"

"""AUROC on train beside test, of models for which train was measured."""

from twicetold_lab.reporting.glossary import describe
from twicetold_lab.reporting.leaderboard import Leaderboard

EXPLANATION = (
    "Over all pairs of the train texts, and of the test texts. Nothing was chosen by train. Its pairs are others than "
    "those of test, easier or harder for any model: compare models within a column."
)


def columns(board: Leaderboard) -> list[tuple[str, str]]:
    """Metric and split of each column; empty where train was measured of no model."""
    names = {name for row in board.rows for name in row.metrics.get("train", {}) if describe(name).stem == "auroc"}
    return [(name, split) for name in board.metrics if name in names for split in ("train", "test")]

"""Terms behind a mistake: what a model whose score is a sum over pairs of terms took of two texts for alike."""

from collections.abc import Mapping

from twicetold import layout
from twicetold.interpretation.contributions import explain, linear_families
from twicetold.trained.folder_files import read_recipe
from twicetold.trained.model_folder import load_model
from twicetold.trained.scoring import TrainedModel
from twicetold_lab.reporting.leaderboard import Row

MOST = 3
"""Pairs of terms that are named."""
BLANK = "▁"
"""Before a sub-word that begins a word."""


def explainers(rows: Mapping[str, Row]) -> dict[str, TrainedModel]:
    """The models of one encoder whose score is a sum over terms, of those whose folder is there."""
    folders = {name: row.first.folder / layout.MODEL for name, row in rows.items()}
    targets = {
        name: str(read_recipe(folder).get("encoder", {}).get("_target_", ""))
        for name, folder in folders.items()
        if (folder / layout.RECIPE).is_file()
    }
    families = {f"twicetold.models.{family}" for family in linear_families()} if targets else set()
    return {name: load_model(folders[name]) for name, at in targets.items() if at.rpartition(".")[0] in families}


def terms_of(model: TrainedModel, left: str, right: str) -> tuple[str, ...]:
    """The pairs of terms with the largest contributions, largest first; a term with itself is written once.

    Those that lower the score have a minus. Empty where the model knows no term of a text.
    """
    try:
        largest = explain(model, left, right).largest(MOST)
    except ValueError:
        return ()
    pairs = [(one.removeprefix(BLANK), other.removeprefix(BLANK), value < 0) for one, other, value in largest]
    said = (f"{'−' * lowers}{one if one == other else f'{one} · {other}'}" for one, other, lowers in pairs)
    return tuple(dict.fromkeys(said))

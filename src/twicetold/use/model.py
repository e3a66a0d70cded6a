"""A trained model in use.

    model = load("runs/quora_wang-static-0")
    model.similarity(["a text"], ["another"])      # scores, higher = more alike
    model.predict_proba(["a text"], ["another"])   # calibrated probabilities that both say the same
    model.predict(["a text"], ["another"])         # whether they do, by the threshold chosen on validation
    model.dedupe(["a text", "another", "a Text"])  # groups of texts that say the same

What two texts that "say the same" share is the model's label, `model.about`: of labelled pairs `duplicate`, of
documents the finest label that they had, such as `story`. `predict(left, right, about="category")` asks about another.

Shape letters: n texts or pairs, D columns of the vectors.
"""

import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.dedupe import Chosen
from twicetold.evaluation.labels import Decisions
from twicetold.neighbours.grouping import Rule
from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import texts_of
from twicetold.trained.model_folder import load_model, read_thresholds
from twicetold.trained.scoring import TrainedModel
from twicetold.trained.static_table import is_table, load_table
from twicetold.use.dedupe import NEIGHBOURS, Groups, Keep, dedupe

if TYPE_CHECKING:
    from twicetold.index.text_index import TextIndex

ADDRESS = "models:/"


class OlderFolder(UserWarning):
    """A model folder of an older form does not say all that is asked of it now."""


def load(model: str | Path) -> "Model":
    """Load a trained model.

    Args:
        model: a run folder (`runs/...`), a model folder copied from anywhere, or an address of MLflow's registry
            (`models:/twicetold-quora@champion`, `models:/twicetold-quora/3`), which is downloaded once. The store is
            `mlruns/mlflow.db` in the working directory, unless `MLFLOW_TRACKING_URI` names another.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the folder is damaged, or asks for anything that a model does not need.

    Warns:
        OlderFolder: if the folder does not say which label its decision is about.
    """
    folder = folder_of(model)
    loaded = Model(load_table(folder) if is_table(folder) else load_model(folder), folder)
    if loaded.decisions.unknown:
        warnings.warn(loaded.decisions.unknown, OlderFolder, stacklevel=2)
    return loaded


def folder_of(model: str | Path) -> Path:
    """The model folder of what `load` takes, downloaded if it is an address. Errors: `load`."""
    if str(model).startswith(ADDRESS):
        from twicetold.tracking.registry import fetch

        return fetch(str(model), root=Path.cwd())
    return model_folder(Path(model))


def model_folder(place: Path) -> Path:
    """The model folder of a run, or the folder itself."""
    inner = place / layout.MODEL
    return inner if not (place / layout.RECIPE).is_file() and (inner / layout.RECIPE).is_file() else place


class Model:
    """A trained model: one encoder, or an ensemble.

    Args:
        trained: the model.
        folder: where it was loaded from.
    """

    def __init__(self, trained: TrainedModel, folder: Path) -> None:
        self.trained = trained
        self.folder = folder

    def __repr__(self) -> str:
        return f"Model({str(self.folder)!r})"

    @property
    def decisions(self) -> Decisions:
        """Threshold and calibration for each label, chosen on validation."""
        return self.trained.decisions

    @property
    def about(self) -> str:
        """The label that verdicts are about unless another is asked for: texts that are the same share it."""
        return self.decisions.finest

    @property
    def decision(self) -> Decision:
        """Threshold and calibration about that label, also where they cannot give a verdict.

        Raises:
            NoVerdict: if validation had no pair to choose them on.
        """
        return self.decisions.of().stored

    @property
    def threshold(self) -> float:
        """The score from which `predict` calls two texts the same. Errors: `decision`."""
        return self.decision.threshold

    @property
    def thresholds(self) -> Chosen | None:
        """Thresholds and calibration over all pairs of the validation texts; None if the folder has none.

        Raises:
            ValueError: if the file with them is damaged.
        """
        return read_thresholds(self.folder)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """(n, D) vectors whose dot products are similarities (of an ensemble: up to a constant); CSR if lexical.

        Raises:
            TypeError: if the family scores pairs only, or one text is given in place of several.
        """
        return self.trained.embed(texts_of(texts))

    def similarity(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """(n,) score of each pair; higher means more alike. A text that occurs several times is read once.

        Raises:
            ValueError: if the two sides differ in length.
            TypeError: if one text is given in place of several.
        """
        left, right = texts_of(left), texts_of(right)
        if len(left) != len(right) or not len(left):
            return self.trained.score(left, right)  # says what is wrong, or has nothing to do
        number: dict[str, int] = {}
        numbers = (number.setdefault(text, len(number)) for text in chain(left, right))
        places = np.fromiter(numbers, np.int64, 2 * len(left))
        return self.trained.read(list(number)).score(places[: len(left)], places[len(left) :])

    def predict_proba(
        self, left: Sequence[str], right: Sequence[str], *, about: str | None = None
    ) -> NDArray[np.float64]:
        """(n,) probability that each pair says the same, calibrated on validation.

        It holds for pairs like those of validation: among other pairs, duplicates may be rarer. Documents are
        calibrated over all their pairs. Arguments and errors: `predict`.
        """
        return self.decisions.of(about).usable.probability(self.similarity(left, right))

    def predict(self, left: Sequence[str], right: Sequence[str], *, about: str | None = None) -> NDArray[np.bool_]:
        """(n,) whether each pair says the same, by the threshold chosen on validation.

        Args:
            left: n texts.
            right: n texts.
            about: the label that two texts which say the same share; None: `Model.about`.

        Raises:
            NoVerdict: a `ValueError`, if the model cannot answer about this label; says why.
            ValueError: if the two sides differ in length, or the model knows no such label.
            TypeError: if one text is given in place of several.
        """
        return self.decisions.of(about).usable.duplicate(self.similarity(left, right))

    def dedupe(
        self,
        texts: Sequence[str],
        *,
        precision: float | None = None,
        threshold: float | None = None,
        rule: Rule = "average",
        keep: Keep = "first",
        rerank: "Model | None" = None,
        neighbours: int = NEIGHBOURS,
        progress: Callable[[str], None] | None = None,
    ) -> Groups:
        """Group texts that say the same; nothing is dropped.

        A pair of texts is a link from a threshold on: the one for `precision`, or `threshold`. With neither it is the
        one whose groups by the rule were best on all pairs of validation texts, if the model folder holds it; after a
        calibration on pairs that `label` drew from a file, the one with the highest F1 of links on these; else the one
        of `predict`. That one was chosen on labelled pairs, and links too much where duplicates are rarer.

        Args:
            texts: n of them, none empty.
            precision: share of links that are right, among all pairs of a corpus like the validation texts. The model
                folder must hold thresholds for it.
            threshold: the least calibrated probability of a link.
            rule: `components` joins what a chain of links joins; `average` and `complete` ask for the mean, or for
                every, pair of two groups to reach the threshold.
            keep: what represents a group: its `first` text, its `longest`, or the `most-central`, with the highest mean
                similarity to the others.
            rerank: another model, which scores the pairs of nearest texts; it may be one that scores pairs only.
            neighbours: of each text that are compared. With `rerank` all these pairs are scored; without, texts that
                have more links are searched for more.
            progress: is called with a description of each step.

        Raises:
            TypeError: if this family scores pairs only, or one text is given in place of several.
            ValueError: if a text is empty, an option is out of range, or no threshold is known for the precision.
        """
        return dedupe(
            self,
            texts,
            precision=precision,
            threshold=threshold,
            rule=rule,
            keep=keep,
            rerank=rerank,
            neighbours=neighbours,
            progress=progress,
        )

    def index(
        self,
        texts: Sequence[str],
        ids: Sequence[str] | None = None,
        *,
        groups: bool = True,
        precision: float | None = None,
        threshold: float | None = None,
        rule: Rule = "average",
        progress: Callable[[str], None] | None = None,
    ) -> "TextIndex":
        """An index of texts, in memory: search, add, remove, save. See `twicetold.index.text_index`.

        Args:
            texts: n of them, none empty.
            ids: (n,) distinct names; None: numbers from 0.
            groups: group texts that say the same, as `dedupe` does, whose options the others are.
            precision: see `dedupe`.
            threshold: see `dedupe`.
            rule: see `dedupe`; texts that are added later join the group of the text most alike.
            progress: is called with a description of each step.

        Raises:
            TypeError: if this family scores pairs only, or one text is given in place of several.
            ValueError: if an id is given twice; and as `dedupe` does.
        """
        from twicetold.index.text_index import TextIndex

        return TextIndex.build(
            self, texts, ids, groups=groups, precision=precision, threshold=threshold, rule=rule, progress=progress
        )

"""A trained model that was loaded: what it says of texts and pairs.

What duplicates share is the model's label, `LoadedModel.about`: of labelled pairs `duplicate`, of
documents the finest label that they had, such as `story`. `predict(left, right, about="category")` asks about another.

Shape letters: n texts or pairs, D columns of the vectors.
"""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.labels import Decisions
from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.scoring import TrainedModel

if TYPE_CHECKING:
    from twicetold.evaluation.thresholds import DedupeThresholds
    from twicetold.trained.threshold_record import ThresholdRecord

NOWHERE = Path("(not saved)")  # the folder of a model that is in memory alone


class LoadedModel:
    """A trained model: one encoder, or an ensemble.

    Args:
        trained: the model.
        folder: where it was loaded from.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> model = twicetold.fit(texts, lexical=True)  # of a folder: twicetold.load or LoadedModel.from_folder
        >>> model.about, model.decisions.finest, model.decision.threshold == model.threshold
        ('meaning', 'meaning', True)
        >>> model.thresholds is None  # nothing was measured on all pairs of validation texts
        True
        >>> model.record.calibration is None  # nobody calibrated it
        True
        >>> model.similarity(["learning to swim"], ["How do I learn to swim?"]).shape
        (1,)
    """

    def __init__(self, trained: TrainedModel, folder: Path) -> None:
        self.trained = trained
        self.folder = folder

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Load the model of a model folder.

        Raises:
            FileNotFoundError: if there is no trained model.
            ValueError: if the folder is damaged, or asks for anything that a model does not need.
        """
        from twicetold.trained.model_folder import load_model
        from twicetold.trained.threshold_record import UNNAMED

        loaded = cls(load_model(folder), folder)
        if loaded.about == UNNAMED:
            raise ValueError(
                f"expected the label of each decision of a model of documents in {folder / layout.DECISION}, got one "
                "decision without it, as of an early version: train the model again"
            )
        return loaded

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    def __sklearn_clone__(self) -> Self:
        """Return itself, for `sklearn.base.clone`: it is trained already, and a copy would be as large."""
        return self

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
    def record(self) -> "ThresholdRecord":
        """All that the folder says of its thresholds, and of what they rest on.

        Raises:
            ValueError: if a file with them is damaged.
        """
        from twicetold.trained.threshold_record import ThresholdRecord

        return ThresholdRecord.read(self.folder)

    @property
    def thresholds(self) -> "DedupeThresholds | None":
        """Thresholds and calibration over all pairs of validation texts, of the `record`; None if there are none."""
        return self.record.dedupe

    def encode(self, texts: TextsLike) -> Matrix:
        """Return (n, D) vectors whose dot products are similarities (of an ensemble: up to a constant); CSR if lexical.

        Raises:
            TypeError: if the family scores pairs only, or one text is given in place of several.
        """
        return self.trained.embed(texts_of(texts))

    def similarity(self, left: TextsLike, right: TextsLike) -> NDArray[np.float32]:
        """Return (n,) score of each pair; higher means more alike. A text that occurs several times is read once.

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

    def predict_proba(self, left: TextsLike, right: TextsLike, *, about: str | None = None) -> NDArray[np.float64]:
        """Return (n,) probability that each pair is a duplicate, calibrated on validation.

        It holds for pairs like those of validation: among other pairs, duplicates may be rarer. Documents are
        calibrated over all their pairs. Arguments and errors: `predict`.
        """
        return self.decisions.of(about).usable.probability(self.similarity(left, right))

    def predict(self, left: TextsLike, right: TextsLike, *, about: str | None = None) -> NDArray[np.bool_]:
        """Return (n,) whether each pair is a duplicate, by the threshold chosen on validation.

        Args:
            left: n texts.
            right: n texts.
            about: the label that duplicates share; None: `about`.

        Raises:
            NoVerdict: a `ValueError`, if the model cannot answer about this label; says why.
            ValueError: if the two sides differ in length, or the model knows no such label.
            TypeError: if one text is given in place of several.
        """
        return self.decisions.of(about).usable.duplicate(self.similarity(left, right))

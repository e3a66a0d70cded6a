"""A trained model in use.

model = load("runs/quora_wang-static-0")
model.similarity(["a text"], ["another"])      # scores, higher = more alike
model.predict_proba(["a text"], ["another"])   # calibrated probabilities that both are duplicates
model.predict(["a text"], ["another"])         # whether they do, by the threshold chosen on validation
model.dedupe(["a text", "another", "a Text"])  # groups of duplicates
model.index(["a text", "another"])             # an index to search and to grow

Without a trained model:

fit(texts).dedupe(texts)                       # compares letters and words
fit(texts).index(texts)                        # the same groups, to search and to grow
fit(texts).questions(texts)                    # asks about the least certain pairs; the answers are for dedupe
fit(texts, vectors=matrix).dedupe(texts)       # compares vectors that were made elsewhere as well
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.options import DEFAULTS, Choices, DedupeOptions
from twicetold.dedupe.results import TextGroups
from twicetold.dedupe.thresholds import Thresholds
from twicetold.files import require_free
from twicetold.neighbours.rules import Rule
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.fitted import LEXICAL, MEANING, Fitted, mixture, save_fitted_to
from twicetold.trained.loaded import NOWHERE, LoadedModel
from twicetold.trained.scoring import TrainedModel

if TYPE_CHECKING:
    from twicetold.dedupe.compared_pairs import ComparedPairs
    from twicetold.dedupe.questions import Questions
    from twicetold.index.text_index import TextIndex
    from twicetold.trained.given_vectors import Vectors
    from twicetold.trained.threshold_record import ThresholdRecord


def load(model: str | Path) -> "Model":
    """Load a trained model.

    Args:
        model: a run folder (`runs/...`), or a model folder copied from anywhere.

    Raises:
        FileNotFoundError: if there is no trained model.
        ValueError: if the folder is damaged, or asks for anything that a model does not need.
    """
    from twicetold.trained.folder_files import folder_of

    return Model.from_folder(folder_of(model).absolute())  # read again by a dedupe, wherever the process is then


def fit(
    texts: TextsLike,
    *,
    lexical: bool = False,
    vectors: "Vectors | None" = None,
    decision: str | Path | None = None,
    folder: str | Path | None = None,
    name: str = "these texts",
) -> "Model":
    """Return a model that is fitted to texts, without labels and without training: `fit(texts).dedupe(texts)`.

    It compares letters and words, and where the extra `static` is installed, vectors (`twicetold.trained.fitted`).
    `dedupe` and `index` group by a matcher of pairs that was learnt on other files (`twicetold.matching.comparison`);
    `predict` and `predict_proba` answer by it about pairs, and `similarity` and `search` go by a mean of cosines.

    Args:
        texts: those to compare, none empty; the more they are like each other in kind, the better.
        lexical: letters and words alone, also where vectors are installed. To vectors, texts that differ in a number
            alone, such as of two products, are much alike.
        vectors: compare these beside letters and words: an (n, D) matrix or a column of n lists that was made
            elsewhere, a function from texts to either, a `.npy` file with a matrix, or a folder of model2vec. A matrix
            is of these texts; the model knows no others. `similarity` and `search` go by the cosine alone.
        decision: the file that `twicetold calibrate` wrote for such vectors: `dedupe` then groups by their cosine
            alone, from the threshold on that labels chose.
        folder: where the model is saved, if it is: a new folder, or that of a model, which is replaced.
        name: of the texts, in the model folder.

    Raises:
        FileExistsError: if there is something else than a model in the folder.
        FileNotFoundError: if there is no such file of vectors.
        TypeError: if one text is given in place of several, or vectors are no numbers.
        ValueError: if there is no text, one is empty, or there is neither word nor symbol in them; if there are not as
            many vectors as texts, one is 0 or not finite, they are to be saved in a folder, or the decision is about
            others.
    """
    texts = list(texts_of(texts))  # the list may be changed afterwards
    if folder is not None:
        folder = Path(folder).absolute()
        require_free(folder, replaces=layout.RECIPE)
    distinct, tokens = DistinctTexts.of(texts).texts, None
    if vectors is not None:
        from twicetold.trained.given_vectors import folder_in

        tokens = folder_in(vectors)
        if lexical:
            raise ValueError("give lexical or vectors, not both")
    if decision is not None and (vectors is None or tokens is not None):
        raise ValueError("a decision file is for vectors of these texts: give them, or calibrate a model")
    if vectors is not None and tokens is None:
        if folder is not None:
            raise ValueError("vectors of these texts alone make no model that can be saved: give a folder of model2vec")
        return _of_vectors(texts, vectors, decision)
    if tokens is not None:
        from twicetold.trained.fitted_static import FittedStatic

        static = FittedStatic.to(distinct, tokens)
        if folder is not None:
            static.save(folder, distinct, name=name)
        return Model(static.scorer, folder or NOWHERE)
    fitted = Fitted(distinct, LEXICAL if lexical else mixture())
    if folder is not None:
        save_fitted_to(folder, fitted, name=name)
    return Model(fitted, folder or NOWHERE)


def _of_vectors(texts: Sequence[str], vectors: "Vectors", decision: str | Path | None) -> "Model":
    """Return a model of vectors that were made elsewhere; arguments and errors: `fit`."""
    from twicetold.trained.given_vectors import GivenVectors, vectors_of
    from twicetold.trained.threshold_record import read_vector_decision

    record = None if decision is None else read_vector_decision(Path(decision))
    rows = vectors_of(texts, vectors)
    if record is not None and record.probes is not None:
        record.probes.require(texts, rows)
    return Model(GivenVectors(texts, rows, None if record is None else record.decisions), NOWHERE, record=record)


class Model(LoadedModel):
    """A trained model with all that people do with it: see also `LoadedModel`.

    Args:
        trained: the model.
        folder: where it was loaded from.
        record: of its thresholds; None: that of the folder.

    Examples:
        A model that `fit` made, which needs no training; one of `load` has the same methods.

        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> model = twicetold.fit(texts, lexical=True)  # a Model
        >>> model.dedupe(texts).group
        array([0, 0, 1])
        >>> model.by_matcher, model.predict(texts[:1], texts[1:2])
        (True, array([ True]))
        >>> model.index(texts).search(["buying a tent"], k=1)[0][0].text
        'Where can I buy a tent?'
    """

    def __init__(self, trained: TrainedModel, folder: Path, *, record: "ThresholdRecord | None" = None) -> None:
        super().__init__(trained, folder)
        self._record, self._saved = record, (folder / layout.RECIPE).is_file()

    @property
    def record(self) -> "ThresholdRecord":
        """See `LoadedModel`.

        Raises:
            FileNotFoundError: if the folder of the model is gone, so that nobody knows whether there were some.
            ValueError: if a file with them is damaged.
        """
        if self._saved and not (self.folder / layout.RECIPE).is_file():
            raise FileNotFoundError(
                f"{self.folder}, which the model was loaded from, is not there any more, and thresholds for groups are "
                "read when texts are grouped: put it back, or load the model from where it is now"
            )
        return super().record if self._record is None else self._record

    def predict_proba(self, left: TextsLike, right: TextsLike, *, about: str | None = None) -> NDArray[np.float64]:
        """See `LoadedModel`. A fitted model gives what a dedupe of all these texts says of each pair.

        They depend on the texts that are given at once: by themselves, two texts do not show how rare their words are.
        """
        compared = self._compared(left, right, about)
        return super().predict_proba(left, right, about=about) if compared is None else compared.probability

    def predict(self, left: TextsLike, right: TextsLike, *, about: str | None = None) -> NDArray[np.bool_]:
        """See `LoadedModel`, and `predict_proba`."""
        compared = self._compared(left, right, about)
        return super().predict(left, right, about=about) if compared is None else compared.duplicate

    @property
    def by_matcher(self) -> bool:
        """True if the matcher compares pairs, as of a fitted model, also after labels; else they have a score."""
        fitted = self.trained.unlabelled or self.about == MEANING  # no other needs its folder for a pair
        return fitted and Thresholds.of(self, DEFAULTS, by_matcher=True).texts_alone

    def _compared(self, left: TextsLike, right: TextsLike, about: str | None) -> "ComparedPairs | None":
        """Return pairs by the matcher; None if the model has a score of its own. Arguments and errors: `predict`."""
        from twicetold.dedupe.compared_pairs import ComparedPairs

        if about is not None:
            self.decisions.of(about)
        return ComparedPairs.of(self, texts_of(left), texts_of(right)) if self.by_matcher else None

    def dedupe(
        self, texts: TextsLike, *, progress: Callable[[str], None] | None = None, **options: Unpack[Choices]
    ) -> TextGroups:
        """Group duplicates; nothing is dropped.

        Args:
            texts: n of them, none empty.
            progress: is called with a description of each step.
            options: fields of `twicetold.dedupe.options.DedupeOptions`, which describes them.

        Raises:
            TypeError: if this family scores pairs only, one text is given in place of several, an option is unknown,
                or a column has values of a kind that cannot be used.
            ValueError: if a text is empty, an option is out of range, no threshold is known for the precision, a value
                of a column is no number or date, `pairs` contradict each other, or no two rows have one value of
                `truth`.
        """
        return dedupe(self, texts_of(texts), DedupeOptions(**options), progress=progress)

    def questions(
        self, texts: TextsLike, *, progress: Callable[[str], None] | None = None, **options: Unpack[Choices]
    ) -> "Questions":
        """Ask a person about the pairs that the matcher is least sure of, in a notebook or your own page.

        The answers are the option `pairs` of `dedupe`, and of this method, which then goes on after them.

        Arguments and errors: `dedupe`; and TypeError if the model goes by a score of its own, as a calibrated one.
        """
        from twicetold.dedupe.questions import Questions  # with scikit-learn

        return Questions.of(self, texts_of(texts), DedupeOptions(**options), progress=progress or (lambda step: None))

    def index(
        self,
        texts: TextsLike,
        ids: TextsLike | None = None,
        *,
        groups: bool = True,
        precision: float | None = DEFAULTS.precision,
        threshold: float | None = DEFAULTS.threshold,
        rule: Rule = DEFAULTS.rule,
        progress: Callable[[str], None] | None = None,
    ) -> "TextIndex":
        """Return an index of texts, in memory: search, add, remove, save. See `twicetold.index.text_index`.

        Args:
            texts: n of them, none empty.
            ids: (n,) distinct names; None: numbers from 0.
            groups: group duplicates, as `dedupe` does, whose options the others are.
            precision: see `dedupe`.
            threshold: see `dedupe`.
            rule: see `dedupe`; texts that are added later are grouped by it, too.
            progress: is called with a description of each step.

        Raises:
            TypeError: if this family scores pairs only, or one text is given in place of several.
            ValueError: if an id is given twice; and as `dedupe` does.
        """
        from twicetold.index.growing import built
        from twicetold.index.text_index import TextIndex

        options = DedupeOptions(precision=precision, threshold=threshold, rule=rule) if groups else None
        return TextIndex(self, built(self, texts, ids, grouped_by=options, progress=progress))

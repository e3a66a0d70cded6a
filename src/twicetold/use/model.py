"""A trained model in use.

model = load("runs/quora_wang-static-0")
model.similarity(["a text"], ["another"])      # scores, higher = more alike
model.predict_proba(["a text"], ["another"])   # calibrated probabilities that both say the same
model.predict(["a text"], ["another"])         # whether they do, by the threshold chosen on validation
model.dedupe(["a text", "another", "a Text"])  # groups of texts that say the same
model.index(["a text", "another"])             # an index to search and to grow

Without a trained model:

fit(texts).dedupe(texts)                       # compares letters and words
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.options import DEFAULTS, DedupeOptions, Keep
from twicetold.dedupe.results import TextGroups
from twicetold.index.text_index import TextIndex
from twicetold.neighbours.rules import Rule
from twicetold.tables.texts import texts_of
from twicetold.tracking.locate import folder_of
from twicetold.trained.fitted import LEXICAL, fit_to, mixture, save_fitted_to
from twicetold.trained.loaded import LoadedModel

NOWHERE = Path("(not saved)")  # the folder of a model that is in memory alone


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
    return Model.from_folder(folder_of(model))


def fit(
    texts: Sequence[str], *, lexical: bool = False, folder: Path | None = None, name: str = "these texts"
) -> "Model":
    """A model that is fitted to texts, without labels and without training: `fit(texts).dedupe(texts)`.

    It compares letters and words, and where the extra `static` is installed, vectors (`twicetold.trained.fitted`). Its
    threshold is a guess, and it gives neither verdicts nor probabilities until it is calibrated on labelled pairs.

    Args:
        texts: those to compare, none empty; the more they are like each other in kind, the better.
        lexical: letters and words alone, also where vectors are installed. To vectors, texts that differ in a number
            alone, such as of two products, are much alike.
        folder: where the model is saved, if it is.
        name: of the texts, in the model folder.

    Raises:
        TypeError: if one text is given in place of several.
        ValueError: if there is no text, one is empty, or there is no word in them.
    """
    distinct = DistinctTexts.of(texts_of(texts)).texts
    compared = LEXICAL if lexical else mixture()
    fitted = fit_to(distinct, compared)
    if folder is not None:
        save_fitted_to(folder, fitted, distinct, compared, name=name)
    return Model(fitted, folder or NOWHERE)


class Model(LoadedModel):
    """A trained model with all that people do with it: see also `LoadedModel`."""

    def dedupe(
        self,
        texts: Sequence[str],
        *,
        precision: float | None = DEFAULTS.precision,
        threshold: float | None = DEFAULTS.threshold,
        rule: Rule = DEFAULTS.rule,
        keep: Keep = DEFAULTS.keep,
        rerank: LoadedModel | None = DEFAULTS.rerank,
        neighbours: int = DEFAULTS.neighbours,
        progress: Callable[[str], None] | None = None,
    ) -> TextGroups:
        """Group texts that say the same; nothing is dropped.

        A pair of texts is a link from a threshold on: the one for `precision`, or `threshold`. With neither it is the
        one whose groups by the rule were best on all pairs of validation texts, if the model folder holds it; after a
        calibration on pairs that `label` drew from a file, the one with the highest F1 of links on these; else the one
        of `predict`. That one was chosen on labelled pairs, and links too much where duplicates are rarer. Without
        labels, of a model from `fit`, it is a guess, and similarities stand in the place of probabilities.

        Args:
            texts: n of them, none empty.
            precision: share of links that are right, among all pairs of a corpus like the validation texts. The model
                folder must hold thresholds for it.
            threshold: the least calibrated probability of a link; of a model from `fit`, the least similarity.
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
        options = DedupeOptions(
            precision=precision, threshold=threshold, rule=rule, keep=keep, rerank=rerank, neighbours=neighbours
        )
        return dedupe(self, texts, options, progress=progress)

    def index(
        self,
        texts: Sequence[str],
        ids: Sequence[str] | None = None,
        *,
        groups: bool = True,
        precision: float | None = DEFAULTS.precision,
        threshold: float | None = DEFAULTS.threshold,
        rule: Rule = DEFAULTS.rule,
        progress: Callable[[str], None] | None = None,
    ) -> TextIndex:
        """An index of texts, in memory: search, add, remove, save. See `twicetold.index.text_index`.

        Args:
            texts: n of them, none empty.
            ids: (n,) distinct names; None: numbers from 0.
            groups: group texts that say the same, as `dedupe` does, whose options the others are.
            precision: see `dedupe`.
            threshold: see `dedupe`.
            rule: see `dedupe`; texts that are added later are grouped by it, too.
            progress: is called with a description of each step.

        Raises:
            TypeError: if this family scores pairs only, or one text is given in place of several.
            ValueError: if an id is given twice; and as `dedupe` does.
        """
        options = DedupeOptions(precision=precision, threshold=threshold, rule=rule) if groups else None
        return TextIndex.build(self, texts, ids, grouped_by=options, progress=progress)

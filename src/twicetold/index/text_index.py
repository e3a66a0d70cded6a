"""An index of texts: search for those most alike, add and remove some, keep groups of duplicates.

    index = model.index(texts, ids)
    index.search(["a text"], k=10)          # nearest first, with scores and probabilities
    index.add(["another"], ids=["new"])     # groups anew, by the rule that built the index
    index.save("faq.index")

    with changing("faq.index") as index:    # saved at the end; one process at a time
        index.remove(["new"])

Shape letters: N texts, Q queries, k neighbours.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.errors import require_number
from twicetold.evaluation.decision import Decision
from twicetold.index.folder import MODEL, IndexManifest, locked, new_folder, read, save_changes
from twicetold.index.growing import Added, grown
from twicetold.index.search import nearest, score_constant
from twicetold.index.segments import REMOVED, Segment
from twicetold.index.state import IndexState, groups_of, rows_of, table_of
from twicetold.neighbours.exact_search import Hits
from twicetold.neighbours.nearest import Matrix
from twicetold.neighbours.rules import Rule
from twicetold.printable import counted
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.fitted import Fitted, save_fitted_to
from twicetold.trained.folder_files import folder_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.scoring import search_vectors
from twicetold.trained.vectors_identity import fingerprint

if TYPE_CHECKING:
    from twicetold.index.compared import ComparedTexts


@dataclass(frozen=True)
class Match:
    """A text that a search found.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "Where can I buy a tent?"]
        >>> twicetold.fit(texts, lexical=True).index(texts).search(["tents to buy"], k=1)
        [[Match(id='1', text='Where can I buy a tent?', ...)]]
    """

    id: str
    text: str
    similarity: float
    """The model's score of query and text; higher means more alike."""
    probability: float
    """That both are duplicates, as a dedupe of the texts and the query would say. By the matcher where the index was
    built without labels; else by the calibration when it was built: over all pairs of validation texts where the model
    folder holds one, which says less than `Model.predict_proba`, else on labelled pairs, among which duplicates are
    more frequent."""
    group: int


class TextIndex:
    """Texts with ids, vectors and groups. `Model.index` makes one, `open_index` reads one.

    Args:
        model: whose vectors and scores are used.
        state: what it holds.
        folder: where it was read from; None if it is in memory alone.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> model = twicetold.fit(texts, lexical=True)
        >>> index = model.index(texts)  # a TextIndex
        >>> index.ids, index.groups, index.rule, index.parts
        (['0', '1', '2'], array([0, 0, 1]), 'average', 1)
        >>> [match.text for match in index.search(["How do I learn to swim?"], k=1)[0]]
        ['How do I learn to swim?']
        >>> index.add(["where can I buy  a tent?"]).groups
        array([1])
        >>> index.remove(["1"])
        >>> len(index)
        3
    """

    def __init__(self, model: LoadedModel, state: IndexState, folder: Path | None = None) -> None:
        self.model = model
        self.folder = folder
        self._state, manifest = state, state.manifest
        self._compared: ComparedTexts | None = None
        self._constant = score_constant(model, by_vectors=manifest.by_vectors)

    def __repr__(self) -> str:
        return f"TextIndex({counted(len(self), 'text')}, {self.model!r})"

    def __len__(self) -> int:
        return len(self._state)

    @property
    def threshold(self) -> float | None:
        """Score from which two texts belong to one group; None if the index has no groups."""
        return self._manifest.decision.threshold if self._manifest.groups else None

    @property
    def rule(self) -> Rule:
        """The rule by which links make groups."""
        return self._manifest.rule

    @property
    def decision(self) -> Decision:
        """Threshold and calibration, as they were when the index was built."""
        return self._manifest.decision

    @property
    def ids(self) -> list[str]:
        """Ids of all texts, part by part."""
        return [
            name for part in self._segments for name in part.texts.column("id").filter(pa.array(part.alive)).to_pylist()
        ]

    @property
    def groups(self) -> NDArray[np.int64]:
        """Group of each text, in the order of `ids`."""
        groups = groups_of(self._segments)
        return np.asarray(groups[groups != REMOVED])

    @property
    def parts(self) -> int:
        """Number of parts that a search goes through."""
        return len(self._segments)

    def search(self, texts: TextsLike, k: int = 10) -> list[list[Match]]:
        """Return the `k` texts most alike to each query, nearest first.

        A lexical family finds only texts that share a term with the query, so there may be fewer.

        Args:
            texts: (Q,) queries.
            k: at least 1.

        Raises:
            ValueError: if `k` is below 1, or the index is damaged.
            TypeError: if one text is given in place of several.
        """
        require_number("k", k, whole=True)
        if k < 1:
            raise ValueError(f"expected k, the number of texts to find, to be at least 1, got {k}")
        texts = texts_of(texts)
        if not len(texts) or not self._segments:
            return [[] for _ in texts]
        queries = search_vectors(self.model.trained, texts)[0]
        hits = nearest(self._segments, queries, k, constant=self._constant)
        if not len(hits.row):
            return [[] for _ in texts]
        found = rows_of(self._segments, hits.row)
        columns = (found["id"].to_pylist(), found["text"].to_pylist(), hits.similarity.tolist())
        probability = self._probability(texts, queries, hits).tolist()
        matches = [Match(*row) for row in zip(*columns, probability, found["group"].to_pylist(), strict=True)]
        ends = np.searchsorted(hits.query, np.arange(len(texts) + 1))
        return [matches[start:end] for start, end in pairwise(ends)]

    def _probability(self, texts: Sequence[str], queries: Matrix, hits: Hits) -> NDArray[np.float64]:
        """Return the probability that each of the hits and its query are duplicates."""
        if not self._manifest.matched:
            return self.decision.probability(hits.similarity)
        if self._compared is None or self._compared.state is not self._state:
            from twicetold.index.compared import ComparedTexts  # slow to import

            self._compared = ComparedTexts(self.model, self._state)
        return self._compared.probability(texts, queries, hits)

    def table(self) -> pa.Table:
        """Return `id`, `text` and `group` of all texts, sorted by group."""
        return table_of(self._segments)

    def add(self, texts: TextsLike, ids: TextsLike | None = None) -> Added:
        """Add texts, and group anew by the rule that built the index.

        By the matcher all texts are compared anew; by similarity the new ones, and the groups that they have links to.

        Args:
            texts: (N,).
            ids: (N,) distinct names that no text of the index has. None: consecutive numbers.

        Raises:
            ValueError: if an id is there already or given twice, the numbers of ids and texts differ, or a text is
                blank and the index has groups.
            TypeError: if one text is given in place of several.
        """
        self._state, added = grown(self._state, self.model, texts_of(texts), ids, constant=self._constant)
        return added

    def remove(self, ids: TextsLike) -> None:
        """Remove texts. The groups of the others stay as they are, and so do their ids.

        Raises:
            ValueError: if the index has no text of an id, or an id is given twice; then nothing is removed.
            TypeError: if one id is given in place of several.
        """
        self._state = self._state.without(ids)

    def save(self, folder: str | Path | None = None) -> None:
        """Write the index to a folder, or what has changed to the folder that it was read from.

        A process that is killed meanwhile leaves what was there before.

        Args:
            folder: a new one; None for the one it was read from.

        Raises:
            FileExistsError: if there is something in the new folder.
            FileNotFoundError: if the model is in memory alone, and of vectors that were made elsewhere.
            ValueError: if no folder is given and the index was not read from one.
            OSError: if another process has changed the index since it was read, or changes it now.
        """
        if folder is None and self.folder is None:
            raise ValueError("this index is only in memory: give the folder to save it in")
        if self.folder is not None and (folder is None or Path(folder).resolve() == self.folder.resolve()):
            with locked(self.folder):
                _save_locked(self)
        elif folder is not None:
            with new_folder(Path(folder)) as target:
                parts = [s.changed(name=None, groups_file=None) for s in self._segments]
                manifest = replace(_with_model(self, target), parts=(), saved=0)
                self._state = IndexState(*save_changes(target, manifest, parts))
            self.folder = Path(folder).absolute()

    @property
    def _manifest(self) -> IndexManifest:
        return self._state.manifest

    @property
    def _segments(self) -> Sequence[Segment]:
        return self._state.segments


def open_index(folder: str | Path, model: LoadedModel | str | Path | None = None) -> TextIndex:
    """Read an index that was saved. Dense vectors are memory-mapped.

    Args:
        folder: the index.
        model: that made it, or where it is; None: where it was when the index was built.

    Raises:
        FileNotFoundError: if there is no index, or no model.
        ValueError: if the index is damaged, or the model is another one.
        TypeError: if its scores are no dot products of vectors.
    """
    folder = Path(folder)
    manifest, segments = read(folder)
    if not isinstance(model, LoadedModel):
        try:
            place = folder / MODEL if manifest.model == MODEL else manifest.model
            model = LoadedModel.from_folder(folder_of(model or place).absolute())
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"the index {folder} needs the model that made it. {error}; if the model is "
                "elsewhere now, name its folder with model=... (--model)"
            ) from error
    if (present := fingerprint(model.folder)) != manifest.fingerprint:
        raise ValueError(
            f"the index {folder} was made by the model {manifest.model} (fingerprint {manifest.fingerprint}), and "
            f"{model.folder} is another one (fingerprint {present}): vectors of two models cannot be compared. Name "
            "the model that made the index, or build the index again"
        )
    return TextIndex(model, IndexState(manifest, segments), folder.absolute())


@contextmanager
def changing(folder: str | Path, model: LoadedModel | str | Path | None = None) -> Iterator[TextIndex]:
    """Read an index, and save it at the end of the block; no other process can change it meanwhile.

    Errors: `open_index`, and BlockingIOError if another process changes the index. After an error in the block
    nothing is saved.
    """
    with locked(Path(folder)):
        index = open_index(folder, model)
        yield index
        _save_locked(index)


def _with_model(index: TextIndex, folder: Path) -> IndexManifest:
    """Return the manifest with the fingerprint of the model, which is written to the new folder if it has no other."""
    model, manifest = index.model, index._state.manifest
    if isinstance(model.trained, Fitted) and not model.folder.is_dir():
        save_fitted_to(folder / MODEL, model.trained, name="the texts of an index")
        manifest = replace(manifest, model=MODEL)
    elif manifest.model == MODEL:
        shutil.copytree(model.folder, folder / MODEL)
    place = folder / MODEL if manifest.model == MODEL else model.folder
    try:
        return replace(manifest, fingerprint=fingerprint(place))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"an index knows its model by the folder of the model. {error}") from error


def _save_locked(index: TextIndex) -> None:
    """Write what has changed to the folder that an index was read from; the caller holds its lock."""
    assert index.folder is not None
    index._state = IndexState(*save_changes(index.folder, index._state.manifest, index._state.segments))

"""How an index begins: with texts, which may be grouped, or with nothing but the centres of its cells.

Shape letters: N texts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse

from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.told import known_of_links
from twicetold.index.centres import Centres, TextSample
from twicetold.index.folder import IndexManifest
from twicetold.index.ids import names_of
from twicetold.index.state import IndexState, part_of
from twicetold.neighbours.nearest import Matrix
from twicetold.printable import counted
from twicetold.tables.texts import TextsLike, texts_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import search_vectors
from twicetold.trained.vectors_identity import fingerprint

OTHER_MODEL = "vectors of two models cannot be compared"


def built(
    model: LoadedModel,
    texts: TextsLike,
    ids: TextsLike | None,
    *,
    grouped_by: DedupeOptions | None,
    centres: tuple[LoadedModel, Centres | None] | None,
    progress: Callable[[str], None] | None,
) -> IndexState:
    """An index of texts.

    Args:
        model: that makes the vectors.
        texts: N of them, none empty.
        ids: (N,) distinct names; None: numbers from 0.
        grouped_by: which texts say the same; None: each text has a group of its own.
        centres: of cells, and the model whose they are; None: a large index chooses its own.
        progress: is called with a description of each step.

    Raises:
        ValueError: if an id is given twice, or the centres are another model's or none; and as `dedupe` does.
        TypeError: as `dedupe` does.
    """
    texts = texts_of(texts)
    names = names_of(texts, ids, first=0)
    taken = None if centres is None else _taken(model, *centres)
    manifest, codes = _manifest(model, grouped_by), np.arange(len(texts))

    @cache
    def encoded() -> tuple[Matrix, Matrix]:
        if progress is not None:
            progress(f"encoding {counted(len(texts), 'text')}")
        return search_vectors(model.trained, texts)

    if grouped_by is not None:
        found = dedupe(model, texts, grouped_by, encoded=encoded, progress=progress)
        codes = found.group
        manifest = replace(
            manifest,
            decision=replace(manifest.decision, threshold=float(found.summary.threshold)),
            evidence=[f"the threshold rests on {found.summary.evidence}", *known_of_links(found.summary)],
        )
    if not len(texts):
        return IndexState(manifest, centres=taken)
    manifest = replace(manifest, added=len(texts), next_group=int(codes.max()) + 1)
    return IndexState(manifest, centres=taken).with_part(part_of(names, texts, encoded()[1], codes))


def started(model: LoadedModel, texts: Iterable[Sequence[str]]) -> IndexState:
    """An index without texts, with centres for these. See `TextIndex.start`."""
    sample = TextSample()
    for some in texts:
        sample.add(texts_of(some))
    if not sample.count:
        raise ValueError("expected texts that cells are chosen by, got none")
    vectors = search_vectors(model.trained, sample.lowest()[1])[1]
    if sparse.issparse(vectors):
        raise ValueError(
            "an index by letters and words has no cells: build its parts, and attach the others to the first one"
        )
    return IndexState(_manifest(model, None), centres=Centres.of(vectors, sample.count))


def _manifest(model: LoadedModel, grouped_by: DedupeOptions | None) -> IndexManifest:
    options, measured = grouped_by or DEFAULTS, model.thresholds
    return IndexManifest(
        str(model.folder.resolve()),
        fingerprint="",
        decision=model.decision if measured is None else measured.decision,
        groups=grouped_by is not None,
        by_vectors=measured is not None,
        rule=options.rule,
        neighbours=options.neighbours,
        built_by=options.rule,
        guessed=model.decisions.of().unlabelled,
    )


def _taken(model: LoadedModel, other: LoadedModel, centres: Centres | None) -> Centres:
    if model.trained is not other.trained and fingerprint(model.folder) != fingerprint(other.folder):
        raise ValueError(f"the index whose centres are to be taken was made by another model: {OTHER_MODEL}")
    if centres is None:
        raise ValueError("the index whose centres are to be taken has none: make one with `twicetold index start`")
    return centres

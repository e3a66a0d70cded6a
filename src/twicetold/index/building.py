"""How an index begins: with texts, which may be grouped.

Shape letters: N texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from twicetold.dedupe.dedupe import dedupe
from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.told import known_of_links
from twicetold.index.folder import IndexManifest
from twicetold.index.ids import names_of
from twicetold.index.state import IndexState, part_of
from twicetold.neighbours.nearest import Matrix
from twicetold.tables.texts import texts_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors import search_vectors


def built(
    model: LoadedModel,
    texts: Sequence[str],
    ids: Sequence[str] | None,
    *,
    grouped_by: DedupeOptions | None,
    progress: Callable[[str], None] | None,
) -> IndexState:
    """An index of texts.

    Args:
        model: that makes the vectors.
        texts: N of them, none empty.
        ids: (N,) distinct names; None: numbers from 0.
        grouped_by: which texts say the same; None: each text has a group of its own.
        progress: is called with a description of each step.

    Raises:
        ValueError: if an id is given twice; and as `dedupe` does.
        TypeError: as `dedupe` does.
    """
    texts = texts_of(texts)
    names = names_of(texts, ids, first=0)
    manifest, codes = _manifest(model, grouped_by), np.arange(len(texts))

    @cache
    def encoded() -> tuple[Matrix, Matrix]:
        if progress is not None:
            progress(f"encoding {len(texts):,} texts")
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
        return IndexState(manifest)
    manifest = replace(manifest, added=len(texts), next_group=int(codes.max()) + 1)
    return IndexState(manifest).with_part(part_of(names, texts, encoded()[1], codes))


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

"""Cache of the feature rows of a corpus on disk, which are memory-mapped when they are used again."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold import features
from twicetold.features.rows import CsrRows, Featuriser, Texts
from twicetold.features.saved import fitted_digest
from twicetold.files import make_once
from twicetold_lab.data.corpus import Corpus


def feature_rows(featuriser: Featuriser, corpus: Corpus, folder: Path, *, key: str) -> CsrRows:
    """Return memory-mapped rows of all texts of the corpus, made on first use, by one of several processes.

    Args:
        featuriser: fitted.
        corpus: whose texts to transform.
        folder: where cached rows live.
        key: names featuriser settings and corpus. A digest of the fitted state and of the code of the featurisers is
            added to it, so that rows of another fit or of other code are never reused.
    """
    made = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(features.__path__[0]).glob("*.py"))))
    made.update(fitted_digest(featuriser).encode())
    place = folder / f"{key}-{made.hexdigest()[:8]}"
    make_once(place, lambda: featuriser.transform(inputs_of(featuriser, corpus, np.arange(len(corpus)))).save(place))
    return CsrRows.load(place)


def cached_rows(corpus: Corpus, folder: Path, *, key: str) -> Callable[[Featuriser, str], CsrRows]:
    """Return `feature_rows` of a corpus, for a model of one featuriser or an ensemble.

    Returns:
        From a featuriser, and the name of its member in an ensemble (or ""), to the rows.
    """
    return lambda featuriser, member: feature_rows(featuriser, corpus, folder, key=f"{key}-{member}" if member else key)


def inputs_of(featuriser: Featuriser, corpus: Corpus, rows: NDArray[np.int64]) -> Texts:
    """Return the input of the featuriser for some texts: the texts, or the columns that its attribute `fields` names.

    A field that the corpus lacks is empty in every row.
    """
    fields = featuriser.fields
    chosen = pa.array(rows)
    texts: list[str] = corpus.texts.take(chosen).to_pylist()
    columns = {name: corpus.fields[name].take(chosen).to_pylist() for name in fields or () if name in corpus.fields}
    return _with_fields(featuriser, texts, columns)


def with_extra_texts(featuriser: Featuriser, rows: CsrRows, texts: Sequence[str] | None) -> CsrRows:
    """Return the rows of a corpus followed by those of extra texts, whose fields are empty."""
    if texts is None:
        return rows
    return rows.followed_by(featuriser.transform(_with_fields(featuriser, texts, {})))


def _with_fields(featuriser: Featuriser, texts: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Texts:
    fields = featuriser.fields
    if fields is None:
        return texts
    return {**{name: [""] * len(texts) for name in fields}, **columns, "text": texts}

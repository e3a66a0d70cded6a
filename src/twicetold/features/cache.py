"""Feature rows of a corpus on disk, so that a second use maps them into memory instead of making them again."""

import hashlib
from pathlib import Path

from twicetold.data.corpus import Corpus
from twicetold.features.rows import CsrRows, Featuriser


def feature_rows(featuriser: Featuriser, corpus: Corpus, folder: Path, *, key: str) -> CsrRows:
    """Memory-mapped rows of all texts of the corpus, made on first use.

    Args:
        featuriser: fitted.
        corpus: whose texts to transform.
        folder: where cached rows live.
        key: names featuriser settings and corpus; the code of this package is added to it, so that an edited
            featuriser never meets rows of its former self.
    """
    code = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py"))))
    place = folder / f"{key}-{code.hexdigest()[:8]}"
    if not place.exists():
        featuriser.transform(corpus.texts.to_pylist()).save(place)
    return CsrRows.load(place)

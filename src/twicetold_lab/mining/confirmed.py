"""How many pairs that were found without labels the labels confirm: for the cards of mined neighbours."""

import numpy as np
from numpy.typing import NDArray

from twicetold_lab.data.corpus import UNKNOWN, Corpus


def confirmed(corpus: Corpus, label: str, anchor: NDArray[np.int64], positive: NDArray[np.int64]) -> dict[str, int]:
    """Counts of the pairs whose two groups are known, and of those whose groups are one; empty without such labels.

    Args:
        corpus: where the texts are.
        label: name of the group.
        anchor: (P,) indices into the corpus's texts.
        positive: (P,)
    """
    if label not in corpus.groups:
        return {}
    one, other = corpus.groups[label][anchor], corpus.groups[label][positive]
    known = (one != UNKNOWN) & (other != UNKNOWN)
    return {"of_known_group": int(known.sum()), "of_the_anchors_group": int((known & (one == other)).sum())}

"""TF-IDF cosine: the main baseline.

Salton and Buckley, Term-weighting approaches in automatic text retrieval, 1988. The weights come from the
featuriser; nothing is trained.
"""

from twicetold.layers.sparse_tower import SparseTower


class TfIdfCosine(SparseTower):
    """Cosine of TF-IDF rows.

    Args:
        width: number of words.
    """

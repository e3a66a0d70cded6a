"""Binary counts: cosine of the unweighted sets of words of two texts.

The second baseline of louislung/DAE_RNN_News_Recommendation, on the denoising autoencoder's own input.
"""

from twicetold.layers.sparse_tower import SparseTower


class BinaryCountCosine(SparseTower):
    """Cosine of binary bags of words.

    Args:
        width: number of words.
    """

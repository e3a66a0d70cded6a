"""Mean of word vectors that are trained on the train texts: words with similar neighbours get similar vectors.

Mikolov, Chen, Corrado and Dean, Efficient Estimation of Word Representations in Vector Space, 2013 (arXiv:1301.3781),
figure 1, right; trained by the `skip_gram` objective (Mikolov et al., NIPS 2013).

    v_w = E[w]                             of a word as a centre; the objective predicts its neighbours
    embedding = Σ_w x_w v_w                of a text, compared by cosine

No label is used.
"""

from twicetold.layers.vector_mean import SkipGramVectors


class Word2Vec(SkipGramVectors):
    """One vector per word.

    Args:
        width: numbers of words, with one for unknown words, which are ignored.
        embedding: dimensions of a vector.
        remove_components: how many directions that all train texts share are removed; 0 for a plain mean.
        counts: (width,) how often each word occurs in the train texts, from the featuriser.
    """

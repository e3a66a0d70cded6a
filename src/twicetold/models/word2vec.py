"""Mean of word vectors that were learnt on the train texts: words are alike that have like neighbours.

Mikolov, Chen, Corrado and Dean, Efficient Estimation of Word Representations in Vector Space, 2013 (arXiv:1301.3781),
figure 1, right; trained by the `skip_gram` objective (Mikolov et al., NIPS 2013).

    v_w = E[w]                             of a word as a centre; the objective has it foretell its neighbours
    embedding = Σ_w x_w v_w                of a text, compared by cosine

No label is used. What it lacks beside vectors from billions of words is text to learn from.
"""

from twicetold.layers.vector_mean import SkipGramVectors


class Word2Vec(SkipGramVectors):
    """One vector per word.

    Args:
        width: numbers of words, with one for unknown words, which count for nothing.
        embedding: dimensions of a vector.
        remove_components: how many directions that all train texts share are left out; 0 for a plain mean.
        counts: (width,) how often each word occurs in the train texts, from the featuriser.
    """

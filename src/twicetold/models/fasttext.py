"""Mean of word vectors that are themselves means over the word and its letter n-grams, learnt on the train texts.

Bojanowski, Grave, Joulin and Mikolov, Enriching Word Vectors with Subword Information, TACL 2017; trained by the
`skip_gram` objective, as word2vec is.

    v_w = 1/|G_w| Σ_{g ∈ G_w} E[g]         G_w: the word, if it is known, and its n-grams
    embedding = Σ_w x_w v_w                of a text, compared by cosine

A word that train never had gets a vector from its n-grams, so that a slip of the pen or another ending is not a word
without meaning. Which n-grams there are is the featuriser's business, see `features.word_grams`.
"""

from twicetold.layers.vector_mean import SkipGramVectors


class FastText(SkipGramVectors):
    """One vector per word and one per n-gram.

    Args:
        width: columns: words, with one for unknown words, which counts for nothing, and then n-grams.
        embedding: dimensions of a vector.
        remove_components: how many directions that all train texts share are left out; 0 for a plain mean.
        counts: how often each word occurs in the train texts, from the featuriser.
    """

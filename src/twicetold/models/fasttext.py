"""Mean of word vectors that are means over the vectors of the word and its letter n-grams, trained on the corpus.

Bojanowski, Grave, Joulin and Mikolov, Enriching Word Vectors with Subword Information, TACL 2017; trained by the
`skip_gram` objective, like word2vec.

    v_w = 1/|G_w| Σ_{g ∈ G_w} E[g]         G_w: the word, if it is known, and its n-grams
    embedding = Σ_w x_w v_w                of a text, compared by cosine

A word that does not occur in train gets a vector from its n-grams, so misspelt and inflected words have one too. The
featuriser chooses the n-grams, see `features.word_grams`.
"""

from twicetold.layers.vector_mean import SkipGramVectors


class FastText(SkipGramVectors):
    """One vector per word and one per n-gram.

    Args:
        width: columns: words, with one for unknown words, which is ignored, and then n-grams.
        embedding: dimensions of a vector.
        remove_components: how many directions that all train texts share are removed; 0 for a plain mean.
        counts: how often each word occurs in the train texts, from the featuriser.
    """

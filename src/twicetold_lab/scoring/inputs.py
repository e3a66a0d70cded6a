"""The inputs of selection and evaluation: a split of a corpus, read by a model."""

from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs
from twicetold.trained.reading import ReadTexts, sampled
from twicetold_lab.data.corpus import Corpus


def evaluation_inputs(
    texts: ReadTexts, corpus: Corpus, split: str, *, at_most: int | None = None
) -> ScoredPairs | DocumentVectors:
    """The inputs of selection and evaluation for one split: scored pairs, or the vectors of all documents.

    Args:
        texts: the texts of the corpus, read by a model.
        corpus: the data.
        split: val or test.
        at_most: of more documents than this, take a random sample of this size, always the same; None: take all.
    """
    if corpus.kind == "documents":
        members = sampled(corpus.members[split], at_most)
        left, right = texts.search_matrices(members)
        return DocumentVectors(left, right, {name: codes[members] for name, codes in corpus.groups.items()})
    pairs = corpus.pairs[split]
    return ScoredPairs(texts.score(pairs.left, pairs.right), pairs.label)

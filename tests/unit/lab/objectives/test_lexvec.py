"""LexVec's objective against its equations written as loops, and the family that provides the associations.

It learns from the words within a text, so it is not among the objectives of `test_objectives`, which compare texts.
"""

import numpy as np
import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding, WordsInContext
from twicetold.features.word_associations import WordAssociations
from twicetold.layers.vector_mean import AssociatedWords
from twicetold.models.lexvec import LexVec as Family
from twicetold_lab.objectives.lexvec import LexVec

COUNTS = torch.tensor([0, 9, 4, 1, 6])
MATRIX = torch.tensor(
    [[0, 0, 0, 0, 0], [0, 0, 2.0, 0, 0.5], [0, 2.0, 1.5, 0, 0], [0, 0, 0, 0, 0.25], [0, 0.5, 0, 0.25, 0]],
    dtype=torch.float64,
)
TEXTS = [[1, 2, 0, 3], [4], [], [2, 2, 1, 4, 1]]


def words_of(texts, size=3):
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(len(COUNTS), size, generator=generator, dtype=torch.float64).requires_grad_()
    contexts = torch.randn(len(COUNTS), size, generator=generator, dtype=torch.float64).requires_grad_()
    number = torch.tensor([n for text in texts for n in text], dtype=torch.int64)
    offsets = torch.tensor([0, *np.cumsum([len(t) for t in texts])])
    pairs = MATRIX.flatten().nonzero().squeeze(1)
    values = MATRIX.flatten()[pairs]
    words = AssociatedWords(vectors[number], number, offsets, contexts, COUNTS, pairs, values)
    return words, vectors, contexts


def loss_of(words, **settings):
    chosen = {"window": 2, "negatives": 3, "noise": 64, "subsample": None, **settings}
    return LexVec(**chosen)(EncodedBatch(Encoding(torch.zeros(len(words.offsets) - 1, 3), words)))["loss"]


def by_equations(texts, vectors, contexts, *, window, negatives):
    """Equations 4 and 5, the expectation over noise words taken exactly."""
    noise = COUNTS.double() ** 0.75 / (COUNTS.double() ** 0.75).sum()
    errors = (vectors @ contexts.T - MATRIX) ** 2 / 2
    terms = []
    for text in texts:
        known = [n for n in text if n]
        for place, centre in enumerate(known):
            others = known[max(0, place - window) : place] + known[place + 1 : place + window + 1]
            against = negatives * (noise * errors[centre]).sum()
            terms += [errors[centre, other] + against for other in others]
    return torch.stack(terms).mean()


@pytest.mark.parametrize("window", [1, 2])
def test_loss_and_gradients_are_in_expectation_those_of_the_equations(window):
    words, *tables = words_of(TEXTS)
    torch.manual_seed(0)
    many = loss_of(words, window=window, noise=400_000)  # shared noise words: their mean is the expectation
    expected = by_equations(TEXTS, *tables, window=window, negatives=3)
    torch.testing.assert_close(many, expected, rtol=5e-3, atol=0)
    actual = torch.autograd.grad(many, tables, retain_graph=True)
    for one, other in zip(actual, torch.autograd.grad(expected, tables)):
        torch.testing.assert_close(one, other, rtol=0, atol=2e-2)


def test_words_without_associations_are_an_error():
    words, *_ = words_of(TEXTS)
    plain = WordsInContext(words.vector, words.number, words.offsets, words.contexts, words.counts)
    with pytest.raises(ValueError, match="choose model=lexvec"):
        loss_of(plain)


def test_an_association_is_looked_up_for_any_shape_and_zero_for_others():
    words, *_ = words_of(TEXTS)
    every = torch.arange(5)
    assert torch.equal(words.association(every[:, None], every[None]), MATRIX)


def test_a_family_learns_the_associations_of_its_train_texts():
    texts = ["the cat sat", "the dog sat", "a cat ran", "a dog ran"] * 3
    featuriser = WordAssociations(window=1).fit(texts)
    torch.manual_seed(0)
    family = Family(embedding=8, remove_components=0, **featuriser.shape)
    batch = featuriser.transform(texts).gather(np.arange(len(texts)))
    objective, optimizer = (
        LexVec(window=1, negatives=2, noise=32, subsample=None),
        torch.optim.Adam(family.parameters(), 0.05),
    )
    for _ in range(500):
        optimizer.zero_grad()
        objective(EncodedBatch(family.encode(batch)))["loss"].backward()
        optimizer.step()
    words = family.encode(batch).extra
    number = torch.arange(1, featuriser.shape["width"])
    wanted = words.association(number[:, None], number[None])
    assert wanted.max() > 0.5
    torch.testing.assert_close(family.table[1:] @ family.contexts[1:].T, wanted, rtol=0, atol=0.1)

"""Skip-gram with negative sampling and LexVec, against their equations written as loops.

They learn from the words within a text, so they are not among the objectives of `test_objectives`, which compare texts.
"""

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from twicetold.encoding import EncodedBatch, Encoding, WordsInContext
from twicetold.features.word_associations import WordAssociations
from twicetold.layers.vector_mean import AssociatedWords
from twicetold.models.lexvec import LexVec as Family
from twicetold_lab.objectives.lexvec import LexVec
from twicetold_lab.objectives.skip_gram import SkipGram

COUNTS = torch.tensor([0, 9, 4, 1, 6])
MATRIX = torch.tensor(
    [[0, 0, 0, 0, 0], [0, 0, 2.0, 0, 0.5], [0, 2.0, 1.5, 0, 0], [0, 0, 0, 0, 0.25], [0, 0.5, 0, 0.25, 0]],
    dtype=torch.float64,
)
TEXTS = [[1, 2, 0, 3], [4], [], [2, 2, 1, 4, 1]]
BOTH = pytest.mark.parametrize("objective", [SkipGram, LexVec])


def words_of(texts, size=3):
    generator = torch.Generator().manual_seed(0)
    vectors, contexts = (
        torch.randn(len(COUNTS), size, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2)
    )
    number = torch.tensor([n for text in texts for n in text], dtype=torch.int64)
    offsets = torch.tensor([0, *np.cumsum([len(t) for t in texts])])
    pairs = MATRIX.flatten().nonzero().squeeze(1)
    values = MATRIX.flatten()[pairs]
    return AssociatedWords(vectors[number], number, offsets, contexts, COUNTS, pairs, values), vectors, contexts


def loss_of(objective, words, **settings):
    chosen = {"window": 2, "negatives": 3, "noise": 64, "subsample": None, **settings}
    return objective(**chosen)(EncodedBatch(Encoding(torch.zeros(len(words.offsets) - 1, 3), words)))["loss"]


def by_equations(objective, vectors, contexts, *, window, negatives):
    """The mean over neighbours, the expectation over noise words taken exactly."""
    dots = vectors @ contexts.T
    of_neighbour, of_noise = -logsigmoid(dots), -logsigmoid(-dots)
    if objective is LexVec:
        of_neighbour = of_noise = (dots - MATRIX) ** 2 / 2
    noise = COUNTS.double() ** 0.75 / (COUNTS.double() ** 0.75).sum()
    terms = []
    for text in TEXTS:
        known = [n for n in text if n]
        for place, centre in enumerate(known):
            others = known[max(0, place - window) : place] + known[place + 1 : place + window + 1]
            against = negatives * (noise * of_noise[centre]).sum()
            terms += [of_neighbour[centre, other] + against for other in others]
    return torch.stack(terms).mean()


@pytest.mark.parametrize(
    ("objective", "window", "relative", "absolute"),
    [(SkipGram, 1, 2e-3, 2e-3), (LexVec, 1, 5e-3, 2e-2), (LexVec, 2, 5e-3, 2e-2)],
)
def test_loss_and_gradients_are_in_expectation_those_of_the_equations(objective, window, relative, absolute):
    words, *tables = words_of(TEXTS)
    torch.manual_seed(0)
    many = loss_of(objective, words, window=window, noise=400_000)  # shared noise words: their mean is the expectation
    expected = by_equations(objective, *tables, window=window, negatives=3)
    torch.testing.assert_close(many, expected, rtol=relative, atol=0)
    actual = torch.autograd.grad(many, tables, retain_graph=True)
    for one, other in zip(actual, torch.autograd.grad(expected, tables)):
        torch.testing.assert_close(one, other, rtol=0, atol=absolute)


def test_a_neighbour_at_distance_d_counts_with_the_chance_that_the_window_reaches_it():
    words, vectors, contexts = words_of([[1, 2, 3]])
    dots = -logsigmoid(vectors @ contexts.T)
    near, far = dots[1, 2] + dots[2, 1] + dots[2, 3] + dots[3, 2], dots[1, 3] + dots[3, 1]
    sums = []
    for seed in range(600):
        torch.manual_seed(seed)
        sums.append(loss_of(SkipGram, words, window=2, negatives=1e-9, noise=1))
    # a window of 2 reaches the far word half of the time: 4, 5 or 6 pairs
    expected = (near / 4 + 2 * (near + far / 2) / 5 + (near + far) / 6) / 4
    torch.testing.assert_close(torch.stack(sums).mean(), expected, rtol=2e-2, atol=0)


@BOTH
def test_unknown_words_are_no_neighbours_and_stand_in_nobodys_way(objective):
    losses = []
    for text in ([1, 0, 2], [1, 2]):
        torch.manual_seed(0)
        losses.append(loss_of(objective, words_of([text])[0], window=1))
    torch.testing.assert_close(*losses)


@BOTH
@pytest.mark.parametrize("texts", [[[1], [2], [3]], [[], []]], ids=["a word each", "no word"])
def test_texts_without_neighbours_give_a_zero_that_back_propagates(objective, texts):
    words, vectors, _ = words_of(texts)
    loss = loss_of(objective, words)
    assert loss == 0
    loss.backward()
    assert not vectors.grad.any()


def test_frequent_words_are_left_out_more_often():
    objective = SkipGram(window=1, negatives=1, noise=1, subsample=0.05)
    words, *_ = words_of([[1, 3] * 20_000])
    torch.manual_seed(0)
    kept = objective._kept(words)
    expected = [(0.05 / (int(COUNTS[n]) / int(COUNTS.sum()))) ** 0.5 for n in (1, 3)]
    assert [kept[place::2].float().mean().item() for place in (0, 1)] == pytest.approx(expected, abs=0.02)


def test_words_without_associations_are_an_error():
    words, *_ = words_of(TEXTS)
    plain = WordsInContext(words.vector, words.number, words.offsets, words.contexts, words.counts)
    with pytest.raises(ValueError, match="choose model=lexvec"):
        loss_of(LexVec, plain)


@pytest.mark.parametrize("name", ["window", "negatives", "noise", "subsample"])
def test_numbers_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name}.*: 0"):
        SkipGram(**{"window": 1, "negatives": 1, "noise": 1, "subsample": 1e-3, name: 0})


def test_an_association_is_looked_up_for_any_shape_and_zero_for_others():
    every = torch.arange(5)
    assert torch.equal(words_of(TEXTS)[0].association(every[:, None], every[None]), MATRIX)


def test_a_family_learns_the_associations_of_its_train_texts():
    texts = ["the cat sat", "the dog sat", "a cat ran", "a dog ran"] * 3
    featuriser = WordAssociations(window=1).fit(texts)
    torch.manual_seed(0)
    family = Family(embedding=8, remove_components=0, **featuriser.shape)
    batch = featuriser.transform(texts).gather(np.arange(len(texts)))
    objective = LexVec(window=1, negatives=2, noise=32, subsample=None)
    optimizer = torch.optim.Adam(family.parameters(), 0.05)
    for _ in range(500):
        optimizer.zero_grad()
        objective(EncodedBatch(family.encode(batch)))["loss"].backward()
        optimizer.step()
    words = family.encode(batch).extra
    number = torch.arange(1, featuriser.shape["width"])
    wanted = words.association(number[:, None], number[None])
    assert wanted.max() > 0.5
    torch.testing.assert_close(family.table[1:] @ family.contexts[1:].T, wanted, rtol=0, atol=0.1)

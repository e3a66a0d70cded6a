"""Skip-gram with negative sampling, against its equation written as loops.

It learns from the words within a text, so it is not among the objectives of `test_objectives`, which compare texts.
"""

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from twicetold.encoding import EncodedBatch, Encoding, WordsInContext
from twicetold_lab.objectives.skip_gram import SkipGram

COUNTS = torch.tensor([0, 9, 4, 1, 6])


def words_of(texts, size=3):
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(len(COUNTS), size, generator=generator, dtype=torch.float64).requires_grad_()
    contexts = torch.randn(len(COUNTS), size, generator=generator, dtype=torch.float64).requires_grad_()
    number = torch.tensor([n for text in texts for n in text], dtype=torch.int64)
    offsets = torch.tensor([0, *np.cumsum([len(t) for t in texts])])
    return WordsInContext(vectors[number], number, offsets, contexts, COUNTS), vectors, contexts


def loss_of(words, **settings):
    chosen = {"window": 2, "negatives": 3, "noise": 64, "subsample": None, **settings}
    batch = EncodedBatch(Encoding(torch.zeros(len(words.offsets) - 1, 3), words))
    return SkipGram(**chosen)(batch)["loss"]


def by_equation(texts, vectors, contexts, *, negatives):
    """Equation 4 with a window of 1, its expectation over noise words taken exactly."""
    noise = COUNTS.double() ** 0.75 / (COUNTS.double() ** 0.75).sum()
    terms = []
    for text in texts:
        known = [n for n in text if n]
        for place, centre in enumerate(known):
            for other in (place - 1, place + 1):
                if 0 <= other < len(known):
                    against = (noise * logsigmoid(-contexts @ vectors[centre])).sum()
                    terms.append(-logsigmoid(vectors[centre] @ contexts[known[other]]) - negatives * against)
    return torch.stack(terms).mean()


TEXTS = [[1, 2, 0, 3], [4], [], [2, 2, 1, 4, 1]]


def test_loss_and_gradients_are_in_expectation_those_of_the_equation():
    words, *tables = words_of(TEXTS)
    torch.manual_seed(0)
    many = loss_of(words, window=1, noise=400_000)  # shared noise words: their mean is the expectation
    expected = by_equation(TEXTS, *tables, negatives=3)
    torch.testing.assert_close(many, expected, rtol=2e-3, atol=0)
    actual = torch.autograd.grad(many, tables, retain_graph=True)
    for one, other in zip(actual, torch.autograd.grad(expected, tables)):
        torch.testing.assert_close(one, other, rtol=0, atol=2e-3)


def test_a_neighbour_at_distance_d_counts_with_the_chance_that_the_window_reaches_it():
    words, vectors, contexts = words_of([[1, 2, 3]])
    dots = -logsigmoid(vectors @ contexts.T)
    near, far = dots[1, 2] + dots[2, 1] + dots[2, 3] + dots[3, 2], dots[1, 3] + dots[3, 1]
    torch.manual_seed(0)
    sums = []
    for _ in range(600):
        torch.manual_seed(len(sums))
        sums.append(loss_of(words, window=2, negatives=1e-9, noise=1))
    # a window of 2 reaches the far word half of the time: 4, 5 or 6 pairs
    expected = (near / 4 + 2 * (near + far / 2) / 5 + (near + far) / 6) / 4
    torch.testing.assert_close(torch.stack(sums).mean(), expected, rtol=2e-2, atol=0)


def test_unknown_words_are_no_neighbours_and_stand_in_nobodys_way():
    torch.manual_seed(0)
    with_unknown = loss_of(words_of([[1, 0, 2]])[0], window=1)
    torch.manual_seed(0)
    torch.testing.assert_close(with_unknown, loss_of(words_of([[1, 2]])[0], window=1))


def test_words_of_different_texts_are_no_neighbours():
    loss = loss_of(words_of([[1], [2], [3]])[0])
    assert loss == 0
    loss.backward()


def test_a_batch_without_a_word_gives_a_zero_that_back_propagates():
    words, vectors, _ = words_of([[], []])
    loss = loss_of(words)
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


def test_a_family_without_word_vectors_is_told_which_have_some():
    with pytest.raises(ValueError, match="choose word2vec or fasttext"):
        SkipGram(window=1, negatives=1, noise=1, subsample=None)(EncodedBatch(Encoding(torch.zeros(2, 3))))


@pytest.mark.parametrize("name", ["window", "negatives", "noise", "subsample"])
def test_numbers_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name}.*: 0"):
        SkipGram(**{"window": 1, "negatives": 1, "noise": 1, "subsample": 1e-3, name: 0})

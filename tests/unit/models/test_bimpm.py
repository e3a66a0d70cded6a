"""BiMPM: the network against the paper's formulas, and what a pair's score may depend on."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import cosine_similarity

from twicetold.encoding import SparseRows
from twicetold.models.bimpm import BiMpm
from twicetold.trained.reading import score_pairs

SMALL = {"embedding": 6, "letter": 3, "spelling": 2, "hidden": 4, "perspectives": 3, "dropout": 0.2, "frozen": False}
WORDS = 9  # columns that are words; letters follow
LETTERS = {0: [], 1: [9, 10], 2: [10], 3: [10, 9], 4: [11], 5: [9], 6: [9, 11], 7: [11, 11], 8: [10, 11]}
LEFT = [[1, 2, 3], [4], [5, 5, 1, 2, 0, 3, 7], [], [0, 0], [6, 1]]
RIGHT = [[3, 2], [4, 8, 1, 1], [2], [5], [1, 2], [0]]


def rows_of(texts):
    """The texts' words, each followed by its letters."""
    rows = [[column for word in text for column in (word, *LETTERS[word])] for text in texts]
    offsets = torch.tensor([0, *map(len, rows)]).cumsum(0)
    return SparseRows(torch.tensor([n for row in rows for n in row], dtype=torch.int64), offsets, None, 12)


def encoder_of(scale=5.0, **further):
    torch.manual_seed(0)
    return BiMpm(**{"width": 12, "words": WORDS, "scale": scale} | SMALL | further).eval()


def score(encoder, left, right):
    return encoder.score(encoder.encode(rows_of(left)), encoder.encode(rows_of(right)))


def both_ways(lstm, values):
    return torch.cat([lstm.onwards(values)[0], lstm.backwards(values.flip(0))[0].flip(0)], 1)


def over_perspectives(match, u, v):
    return torch.stack([cosine_similarity(w * u, w * v, dim=0) for w in match.weight])


def naive_matchings(layer, state, other, end):
    alike = torch.stack([cosine_similarity(state, h, dim=0) for h in other])
    parts = [
        over_perspectives(layer.full, state, other[end]),
        torch.stack([over_perspectives(layer.most, state, h) for h in other]).amax(0),
        over_perspectives(layer.mean, state, sum(a * h for a, h in zip(alike, other)) / alike.sum()),
        over_perspectives(layer.chosen, state, other[alike.argmax()]),
    ]
    return torch.cat(parts)


def naive_score(encoder, left, right):
    """BiMPM as the paper writes it, for one pair, word by word, but for the mean over both orders and the cosine."""
    if not any(left) or not any(right):
        return torch.zeros(())
    words, states = [], []
    for text in (left, right):
        letters = [torch.tensor(LETTERS[word]) - WORDS for word in text]
        spelt = [
            encoder.spell.read.onwards(encoder.spell.table[n])[0][-1] if len(n) else torch.zeros(2) for n in letters
        ]
        vectors = [encoder.embed.weight[word] * (word > 0) for word in text]
        words.append(torch.stack([torch.cat(both) for both in zip(vectors, spelt)]))
        states.append(both_ways(encoder.read, words[-1]).chunk(2, 1))
    ends = []
    for own, other in (states, states[::-1]):
        onwards = [naive_matchings(encoder.onwards, h, other[0], -1) for h in own[0]]
        backwards = [naive_matchings(encoder.backwards, h, other[1], 0) for h in own[1]]
        matched = torch.stack([torch.cat(both) for both in zip(onwards, backwards)])
        forwards, from_end = both_ways(encoder.aggregate, matched).chunk(2, 1)
        ends.append(torch.cat([forwards[-1], from_end[0]]))
    u, v = ends
    compared = (encoder.predict(torch.cat([u, v])) + encoder.predict(torch.cat([v, u]))).squeeze() / 2
    if encoder.scale is None:
        return compared
    return compared + encoder.scale * cosine_similarity(*(w.mean(0) for w in words), dim=0)


@pytest.mark.parametrize("scale", [5.0, None], ids=["with the cosine", "as published"])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(scale):
    encoder = encoder_of(scale)
    expected = torch.stack([naive_score(encoder, left, right) for left, right in zip(LEFT, RIGHT)])
    torch.testing.assert_close(score(encoder, LEFT, RIGHT), expected, rtol=1e-4, atol=1e-5)
    assert expected[[0, 1, 2]].all()
    assert score(encoder, LEFT, RIGHT)[3:].tolist() == [0, 0, 0]


def test_gradients_are_those_of_the_formula():
    encoder = encoder_of()
    parameters = list(encoder.parameters())
    naive = torch.stack([naive_score(encoder, left, right) for left, right in zip(LEFT, RIGHT)])
    expected = torch.autograd.grad((naive * torch.arange(1, 7)).sum(), parameters)
    actual = torch.autograd.grad((score(encoder, LEFT, RIGHT) * torch.arange(1, 7)).sum(), parameters)
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-4)


def test_words_that_are_not_in_the_vocabulary_differ_by_their_letters():
    encoder = encoder_of()
    unknown = [
        SparseRows(torch.tensor([0, *letters]), torch.tensor([0, 3]), None, 12) for letters in ([9, 10], [10, 9])
    ]
    known = encoder.encode(rows_of([[1]]))
    one, other = (encoder.score(encoder.encode(rows), known) for rows in unknown)
    assert one != 0
    assert one != other


@pytest.mark.parametrize("sides", [([], []), ([[]], [[]])])
def test_a_batch_without_a_word_still_back_propagates(sides):
    encoder = encoder_of().train()
    score(encoder, *sides).sum().backward()
    assert torch.isfinite(encoder.embed.weight.grad).all()


@pytest.mark.parametrize("features", ["spelt_words", "words", "subwords"])
def test_any_sequence_will_do_with_letters_or_without(features, composed, news):
    cfg = composed("train", "data=toy_news", "model=bimpm", f"features={features}")
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    rows = featuriser.transform(news.texts.to_pylist())
    encoder = instantiate(cfg.encoder, **featuriser.shape).eval()
    left, right = np.arange(10), np.arange(10, 20)
    together = score_pairs(encoder, rows, left, right)
    alone = [score_pairs(encoder, rows, left[[i]], right[[i]])[0] for i in range(10)]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)

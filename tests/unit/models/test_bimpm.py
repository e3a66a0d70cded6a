"""BiMPM: the network against the paper's formulas, and what a pair's score may depend on."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

import pair_networks
from pair_networks import assert_is_formula
from twicetold.encoding import SparseRows
from twicetold.layers import alignment
from twicetold.layers.hashing import word_rows
from twicetold.models.bimpm import BiMpm, Spelling, letters_of

SMALL = {"embedding": 6, "letter": 3, "spelling": 2, "hidden": 4, "perspectives": 3, "dropout": 0.2, "frozen": False}
WORDS = 9  # columns that are words; letters follow
LETTERS = {0: [], 1: [9, 10], 2: [10], 3: [10, 9], 4: [11], 5: [9], 6: [9, 11], 7: [11, 11], 8: [10, 11]}


def rows_of(texts):
    """The texts' words, each followed by its letters."""
    return pair_networks.rows_of([[column for word in text for column in (word, *LETTERS[word])] for text in texts], 12)


def encoder_of(scale=5.0, **further):
    torch.manual_seed(0)
    return BiMpm(**{"width": 12, "words": WORDS, "scale": scale} | SMALL | further).eval()


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


@pytest.mark.parametrize("group", [1, 3, 64])
@pytest.mark.parametrize("scale", [5.0, None], ids=["with the cosine", "as published"])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(scale, group, monkeypatch):
    monkeypatch.setattr(alignment, "GROUP", group)
    assert_is_formula(encoder_of(scale), naive_score, rows_of)


def test_words_that_are_spelt_the_same_are_read_once(monkeypatch):
    layer, rows = Spelling(5, 4, 3), []
    monkeypatch.setattr(layer.read, "forward", lambda values, offsets: rows.append(offsets) or values[:, :3])
    words = [[1, 2]] * 50 + [[2, 1]]
    layer(torch.tensor(words).flatten(), torch.arange(0, 2 * len(words) + 1, 2))
    assert [len(offsets) - 1 for offsets in rows] == [2]


def test_letters_are_the_columns_after_those_of_words():
    rows = SparseRows(torch.tensor([1, 5, 6, 0, 2, 7]), torch.tensor([0, 4, 6]), None, 8)
    letters, offsets = letters_of(word_rows(rows, 5)[0], 5)
    assert letters.tolist() == [0, 1, 2]
    assert offsets.tolist() == [0, 2, 2, 3]

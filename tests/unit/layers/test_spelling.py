"""Spellings against PyTorch's LSTM on one word at a time."""

import torch

from twicetold.encoding import SparseRows
from twicetold.layers.hashing import word_rows
from twicetold.models.bimpm import Spelling, letters_of

WORDS = [[1, 2, 3], [], [3, 2, 1], [1, 2, 3], [4], [1, 2], [0, 0], [0, 0, 0]]


def read(words):
    offsets = torch.tensor([0, *map(len, words)]).cumsum(0)
    return torch.tensor([n for word in words for n in word], dtype=torch.int64), offsets


def test_a_spelling_is_the_last_state_over_its_letters_in_order():
    torch.manual_seed(0)
    layer = Spelling(5, 4, 3)
    found = layer(*read(WORDS))
    expected = [layer.read.onwards(layer.table[word])[0][-1] if word else torch.zeros(3) for word in WORDS]
    torch.testing.assert_close(found, torch.stack(expected))
    actual, wanted = (
        torch.autograd.grad((x * x).sum(), list(layer.parameters())) for x in (found, torch.stack(expected))
    )
    torch.testing.assert_close(actual, wanted)


def test_words_that_are_spelt_the_same_are_read_once(monkeypatch):
    layer, rows = Spelling(5, 4, 3), []
    monkeypatch.setattr(layer.read, "forward", lambda values, offsets: rows.append(offsets) or values[:, :3])
    layer(*read([[1, 2]] * 50 + [[2, 1]]))
    assert [len(offsets) - 1 for offsets in rows] == [2]


def test_no_word_and_words_without_letters_still_back_propagate():
    layer = Spelling(5, 4, 3)
    for words in ([], [[], []]):
        found = layer(*read(words))
        found.sum().backward()
        assert found.shape == (len(words), 3)
        assert not found.any()


def test_letters_are_the_columns_after_those_of_words():
    rows = SparseRows(torch.tensor([1, 5, 6, 0, 2, 7]), torch.tensor([0, 4, 6]), None, 8)
    words, _ = word_rows(rows, 5)
    letters, offsets = letters_of(words, 5)
    assert letters.tolist() == [0, 1, 2]
    assert offsets.tolist() == [0, 2, 2, 3]

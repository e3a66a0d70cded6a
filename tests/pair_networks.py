"""What holds of every network that reads two texts together: its formula, pair by pair, and batches without a word."""

import pytest
import torch

from twicetold.encoding import SparseRows

LEFT = [[1, 2, 3], [4], [5, 5, 1, 2, 0, 3, 7], [], [0, 0], [6, 1]]
RIGHT = [[3, 2], [4, 8, 1, 1], [2], [5], [1, 2], [0]]
WITHOUT_A_WORD = pytest.mark.parametrize("sides", [([], []), ([[]], [[]])])


def rows_of(texts, width=9):
    offsets = torch.tensor([0, *map(len, texts)]).cumsum(0)
    return SparseRows(torch.tensor([n for text in texts for n in text], dtype=torch.int64), offsets, None, width)


def score(encoder, left, right, rows_of=rows_of):
    return encoder.score(encoder.encode(rows_of(left)), encoder.encode(rows_of(right)))


def assert_is_formula(encoder, of_pair, rows_of=rows_of):
    """Scores and gradients are those of a formula for one pair, and 0 for a pair with a text without a known word."""
    found = score(encoder, LEFT, RIGHT, rows_of)
    expected = torch.stack([of_pair(encoder, left, right) for left, right in zip(LEFT, RIGHT)])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert expected[[0, 1, 2]].all()
    assert found[3:].tolist() == [0, 0, 0]
    parameters = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    actual, wanted = (
        torch.autograd.grad((each * torch.arange(1, 7)).sum(), parameters, allow_unused=True)
        for each in (found, expected)
    )
    for name, one, other in zip(dict(encoder.named_parameters()), actual, wanted):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4, msg=lambda said, name=name: f"{name}: {said}")


def assert_trains_without_a_word(encoder, sides, rows_of=rows_of):
    score(encoder.train(), *sides, rows_of).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in encoder.parameters() if p.grad is not None)
    assert any(p.grad is not None for p in encoder.parameters())

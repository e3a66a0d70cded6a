"""What holds of every network that reads two texts together: its formula, pair by pair, and batches without a word."""

import torch
from torch.nn.functional import pad

from twicetold.encoding import SparseRows

LEFT = [[1, 2, 3], [4], [5, 5, 1, 2, 0, 3, 7], [], [0, 0], [6, 1]]
RIGHT = [[3, 2], [4, 8, 1, 1], [2], [5], [1, 2], [0]]
WITHOUT_A_WORD = ([], []), ([[]], [[]])


def rows_of(texts, width=9):
    offsets = torch.tensor([0, *map(len, texts)]).cumsum(0)
    return SparseRows(torch.tensor([n for text in texts for n in text], dtype=torch.int64), offsets, None, width)


def score(encoder, left, right, rows_of=rows_of):
    return encoder.score(encoder.encode(rows_of(left)), encoder.encode(rows_of(right)))


def assert_is_formula(encoder, of_pair, rows_of=rows_of):
    """Scores and gradients are those of a formula for one pair, and 0 for a pair with a text without a known word.

    A batch without a word still back-propagates.
    """
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
    for sides in WITHOUT_A_WORD:
        score(encoder.train(), *sides, rows_of).sum().backward()
        assert all(torch.isfinite(p.grad).all() for p in parameters if p.grad is not None)
        assert any(p.grad is not None for p in parameters)


def embedded(encoder, text):
    """The mean state of an LSTM, or the largest of convolutions over one word and three, for one text."""
    values = encoder.embed.weight[text]
    if hasattr(encoder, "read"):
        states = encoder.read.onwards(values)[0]
        if encoder.read.backwards is not None:
            states = torch.cat([states, encoder.read.backwards(values.flip(0))[0].flip(0)], 1)
        return states.mean(0)
    one, three = (layer.convolution for layer in encoder.convolve)
    return torch.cat([one(values.T[None])[0], three(pad(values.T[None], (1, 1)))[0]]).tanh().amax(1)

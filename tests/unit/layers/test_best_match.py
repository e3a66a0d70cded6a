"""Matching functions against the papers' formulas, word by word."""

import torch

from twicetold.layers.best_match import cosines, weighted


def test_weights_that_cancel_give_a_finite_match():
    values = torch.tensor([[[1.0, 0], [-1.0, 0]]], requires_grad=True)
    alike = cosines(torch.tensor([[[2.0, 0]]]), values)
    found = weighted(alike, values)
    found.sum().backward()
    assert alike.tolist() == [[[1, -1]]]
    assert torch.isfinite(found).all()
    assert torch.isfinite(values.grad).all()

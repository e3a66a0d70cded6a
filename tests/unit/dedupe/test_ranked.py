"""Average precision without PyTorch."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.dedupe.ranked import average_precision
from twicetold.evaluation.inputs import DocumentVectors
from twicetold_lab.evaluation.dedupe_report import rank_pairs


@pytest.mark.parametrize("kind", ["dense", "sparse", "two sides"])
def test_it_is_that_of_the_evaluation_with_its_interval(kind):
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 200, 600), return_inverse=True)[1]
    left = (rng.normal(size=(600, 32)) + rng.normal(size=(600, 32))[codes]).astype(np.float32)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    right = left
    if kind == "sparse":
        left = right = sparse.csr_matrix(np.where(left > 0.2, left, 0))
    if kind == "two sides":
        left, right = np.concatenate([left, left**3], axis=1), np.concatenate([left**3, left], axis=1)
    value, ends = average_precision(codes, (left, right))
    expected = rank_pairs(DocumentVectors(left, right, {"story": codes}), "story")
    assert value == pytest.approx(expected.average_precision, rel=1e-5)
    assert ends == pytest.approx(expected.average_precision_interval, rel=1e-4)

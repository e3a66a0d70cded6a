import numpy as np
import pytest
import scipy.sparse as sp
import torch

from operations import dense
from twicetold.features.rows import CsrRows
from twicetold.layers.corruption import corrupt

ROWS, WIDTH = 200, 300


@pytest.fixture
def clean():
    matrix = sp.random(ROWS, WIDTH, density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    matrix.data[:] = 1
    torch.manual_seed(0)
    return matrix.toarray(), CsrRows.from_scipy(matrix, binary=True).gather(np.arange(ROWS))


def test_masking_keeps_a_share_of_the_entries_and_adds_none(clean):
    matrix, rows = clean
    masked = dense(corrupt(rows, "masking", 0.3)).numpy()
    assert ((masked == 0) | (matrix == 1)).all()
    assert masked.sum() / matrix.sum() == pytest.approx(0.7, abs=0.02)


def test_decay_is_the_expected_value_of_masking(clean):
    matrix, rows = clean
    np.testing.assert_allclose(0.7 * matrix, dense(corrupt(rows, "decay", 0.3)), rtol=1e-6)
    mean = np.mean([dense(corrupt(rows, "masking", 0.3)).numpy() for _ in range(300)], axis=0)
    np.testing.assert_allclose(0.7 * matrix, mean, atol=0.12)


def test_level_zero_changes_nothing(clean):
    matrix, rows = clean
    for kind in ("masking", "decay", "none"):
        np.testing.assert_array_equal(matrix, dense(corrupt(rows, kind, 0.0)))


def test_an_unknown_corruption_is_refused(clean):
    with pytest.raises(ValueError, match="must be masking, decay or none, got 'dust'"):
        corrupt(clean[1], "dust", 0.3)

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from operations import dense
from twicetold.features.rows import CsrRows


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 8), max_size=20))
def test_gathered_rows_are_the_rows_asked_for(seed, chosen):
    matrix = sp.random(9, 6, density=0.4, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))
    chosen = np.array(chosen, np.int64)
    batch = CsrRows.from_scipy(matrix).gather(chosen)
    np.testing.assert_array_equal(matrix.toarray()[chosen], dense(batch))


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_rows_beside_others_are_theirs_side_by_side(seed, one_binary, other_binary):
    rng = np.random.default_rng(seed)
    one, other = (sp.random(9, width, density=0.4, format="csr", dtype=np.float32, rng=rng) for width in (6, 4))
    rows = CsrRows.from_scipy(one, binary=one_binary).beside(CsrRows.from_scipy(other, binary=other_binary))
    expected = [
        (m.toarray() != 0) if binary else m.toarray() for m, binary in ((one, one_binary), (other, other_binary))
    ]
    np.testing.assert_array_equal(rows.to_scipy().toarray(), np.hstack(expected))


def test_rows_of_other_texts_are_not_put_beside():
    one = CsrRows(np.array([0, 1]), np.array([0], np.int32), None, 3)
    with pytest.raises(ValueError, match="got 1 and 0"):
        one.beside(CsrRows(np.array([0]), np.array([], np.int32), None, 2))


def test_saved_rows_load_as_they_were(tmp_path):
    matrix = sp.random(9, 6, density=0.4, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    for binary in (False, True):
        rows = CsrRows.from_scipy(matrix, binary=binary)
        rows.save(tmp_path / "rows")
        loaded = CsrRows.load(tmp_path / "rows")
        np.testing.assert_array_equal(dense(rows.gather(np.arange(9))), dense(loaded.gather(np.arange(9))))
        assert isinstance(loaded.indices, np.memmap)

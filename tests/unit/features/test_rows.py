import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from operations import dense
from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.cached import diagonal
from twicetold.features.cleaning import Cleaned
from twicetold.features.rows import CsrRows, weighted


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


@pytest.mark.parametrize("seed", range(20))
def test_weighted_rows_are_bit_for_bit_those_that_scikit_learn_scales_to_unit_length(seed):
    random = np.random.default_rng(seed)
    counts = sp.random(40, 30, density=0.2, format="csr", dtype=np.float32, rng=random)
    counts.data = np.ceil(10 * counts.data)
    weights = random.uniform(0.0, 9, 30).astype(np.float32)
    weights[0] = 0.0
    expected = normalize(counts @ diagonal(weights))
    found = weighted(counts, diagonal(weights)).to_scipy()
    assert (found != expected).nnz == 0
    assert found.nnz > 200


def test_settings_are_read_changed_and_cloned_as_those_of_an_estimator_of_scikit_learn():
    cleaned = Cleaned(BagOfWords(max_features=5), numbers=True)
    assert cleaned.get_params(deep=False)["featuriser"] is cleaned.featuriser
    assert cleaned.get_params()["featuriser__max_features"] == 5
    copy = clone(cleaned.set_params(featuriser__max_features=7, symbols=True))
    assert copy.featuriser is not cleaned.featuriser
    assert (copy.featuriser.max_features, copy.symbols, copy.numbers) == (7, True, True)
    assert repr(copy) == repr(cleaned)
    assert "max_features=7" in repr(copy)
    with pytest.raises(ValueError, match=r"expected settings of BagOfWords, max_features, .*; got 'words'"):
        cleaned.set_params(featuriser__words=1)


def test_a_featuriser_that_is_not_fitted_says_so_and_scikit_learn_knows_it():
    featuriser = BagOfWords()
    with pytest.raises(NotFittedError, match="BagOfWords is not fitted: call fit"):
        featuriser.transform(["a text"])
    with pytest.raises(NotFittedError):
        check_is_fitted(featuriser)
    check_is_fitted(featuriser.fit(["some words"]))

"""Candidates: the work of a text is bounded, and what it leaves out is counted."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.matching import candidates as module
from twicetold.matching.candidates import candidates, lexical_rows
from twicetold.matching.terms import Terms

DRAW = np.random.default_rng(0)
FEW_WORDS = sorted({" ".join(DRAW.choice(["red", "blue", "green", "shoe", "coat", "hat"], 4)) for _ in range(900)})


@pytest.mark.parametrize("most", [50, 500])
def test_a_text_looks_among_a_bounded_number_of_texts(most, monkeypatch):
    monkeypatch.setattr(module, "MOST", most)
    both = lexical_rows(Terms.of(FEW_WORDS))
    asking, unfinished = module._heaviest(both)
    texts = np.bincount(both.indices)[asking.indices]
    looked = np.add.reduceat(np.append(texts, 0), asking.indptr[:-1]) * (np.diff(asking.indptr) > 0)
    assert looked.max() <= most
    assert unfinished == candidates(Terms.of(FEW_WORDS)).unfinished > 0


def test_below_the_bound_nothing_is_left_out(monkeypatch):
    terms = Terms.of(FEW_WORDS)
    pairs = candidates(terms)
    monkeypatch.setattr(module, "MOST", 10**9)
    unbounded = candidates(terms)
    assert pairs.unfinished == unbounded.unfinished == 0
    np.testing.assert_array_equal(pairs.left, unbounded.left)
    np.testing.assert_array_equal(pairs.right, unbounded.right)


def test_the_largest_of_a_row_are_those_of_a_sort_with_ties_to_the_lower_column():
    values = np.random.default_rng(1).integers(0, 4, (40, 60)).astype(np.float32)
    values[3], values[5] = 0, -1
    product = sparse.csr_array(values)
    chosen = module._largest(product, 7)
    found = [set() for _ in values]
    for row, column in zip(np.searchsorted(product.indptr, chosen, "right") - 1, product.indices[chosen], strict=True):
        found[row].add(int(column))
    for row, each in enumerate(values):
        order = np.lexsort((np.arange(len(each)), -each))[:7]
        assert found[row] == {int(at) for at in order if each[at] > 0 and each[at] >= module.SHARE * each.max()}

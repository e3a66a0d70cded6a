"""Candidates: the work of a text is bounded, and what it leaves out is counted."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.matching import candidates as module
from twicetold.matching.candidates import candidates, lexical_rows
from twicetold.matching.terms import Terms

DRAW = np.random.default_rng(0)
FEW_WORDS = sorted({" ".join(DRAW.choice(["red", "blue", "green", "shoe", "coat", "hat"], 4)) for _ in range(900)})


def rows_of(texts):
    terms = Terms.of(texts)
    return lexical_rows(terms.letters, terms.words)


@pytest.mark.parametrize("most", [50, 500])
def test_a_text_looks_among_a_bounded_number_of_texts(most, monkeypatch):
    monkeypatch.setattr(module, "MOST", most)
    both = rows_of(FEW_WORDS)
    asking, unfinished = module.heaviest(both, np.bincount(both.indices))
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


@pytest.mark.parametrize("texts", [300, 301])
def test_terms_of_more_than_300_texts_are_not_asked_for_beside_three_others(texts):
    sentence = "a blue garden hose of rubber for the house and the terrace, with holder, number"
    both = rows_of([f"{sentence} {number:03d}" for number in range(texts)])
    found_in = np.bincount(both.indices)
    assert (found_in[module.heaviest(both, found_in)[0].indices].max() == texts) == (texts <= 300)


def test_a_text_asks_for_its_heaviest_terms_up_to_seven_tenths_of_its_squared_length():
    both = rows_of(FEW_WORDS[:50])
    asking, _ = module.heaviest(both, np.bincount(both.indices))
    for text in range(50):
        square, asked = (np.sort(rows[[text]].data ** 2)[::-1] for rows in (both, asking))
        assert len(asked) == 1 + np.searchsorted(np.cumsum(square), 0.7)
        np.testing.assert_array_equal(asked, square[: len(asked)])


@pytest.mark.parametrize("split", [None, 20])
def test_candidates_are_the_nearest_by_letters_and_words_or_by_vectors(split, monkeypatch):
    monkeypatch.setattr(module, "ASKED", 1.1)  # a text asks for all its terms
    terms = Terms.of([f"{text} {number * 7919}" for number, text in enumerate(FEW_WORDS[::20])])
    vectors = np.random.default_rng(0).normal(size=(terms.present.shape[0], 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lexical = (0.7 * terms.letters @ terms.letters.T + 0.3 * terms.words @ terms.words.T).toarray()
    cosine, texts = vectors @ vectors.T, np.arange(len(vectors))
    expected = set()
    for similarity, share in ((lexical, 0.4), (cosine, 0)):
        for text in texts.tolist():
            others = texts[(texts != text) if split is None else ((texts < split) != (text < split))]
            order = others[np.argsort(-similarity[text, others])][:3].tolist()
            near = [other for other in order if similarity[text, other] >= share * similarity[text, order[0]]]
            expected |= {(min(text, other), max(text, other)) for other in near}
    expected = {pair for pair in expected if lexical[pair] >= 0.15 or cosine[pair] >= 0.5}
    pairs = candidates(terms, vectors, nearest=3, split=split)
    assert set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == expected
    np.testing.assert_allclose(pairs.lexical, lexical[pairs.left, pairs.right], atol=1e-6)
    np.testing.assert_allclose(pairs.cosine, cosine[pairs.left, pairs.right], atol=1e-6)


@pytest.mark.parametrize("split", [None, 60])
def test_candidates_are_the_same_however_many_texts_are_looked_at_at_a_time(split, monkeypatch):
    terms = Terms.of([f"{text} {number * 7919}" for number, text in enumerate(FEW_WORDS[::5])])
    vectors = np.random.default_rng(0).normal(size=(terms.present.shape[0], 3)).astype(np.float32)
    whole = candidates(terms, vectors, split=split)
    for name, size in (("READ", 7), ("BLOCK", 5)):
        monkeypatch.setattr(module, name, size)
    blocks = candidates(terms, vectors, split=split)
    assert [blocks.left.tolist(), blocks.right.tolist()] == [whole.left.tolist(), whole.right.tolist()]


def test_what_a_text_asks_for_does_not_depend_on_how_many_come_before_it():
    both = rows_of(FEW_WORDS[:50])
    many = sparse.csr_array(np.full((1 << 14, 1), 30.1, np.float32))
    beside = sparse.csr_array(sparse.block_diag([many, both], format="csr"))
    expected, found = (module.heaviest(rows, np.bincount(rows.indices))[0][-50:] for rows in (both, beside))
    assert found.data.tolist() == expected.data.tolist()


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


def test_candidates_are_the_same_however_many_texts_ask_at_a_time(monkeypatch):
    terms = Terms.of(FEW_WORDS)
    at_once = candidates(terms)
    monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr(module, "LOOKED", 900)
    in_parts = candidates(terms)
    np.testing.assert_array_equal(in_parts.key, at_once.key)
    np.testing.assert_array_equal(in_parts.lexical, at_once.lexical)


@pytest.mark.parametrize("split", [None, 300])
@pytest.mark.parametrize("posted", [1, 7, 200])
def test_candidates_by_terms_do_not_depend_on_how_many_texts_are_held_by_term(posted, split, monkeypatch):
    terms = Terms.of(FEW_WORDS)  # many of which are as near to a text as others are
    whole = candidates(terms, split=split)
    monkeypatch.setattr(module, "POSTED", posted)
    parts = candidates(terms, split=split)
    assert parts.unfinished == whole.unfinished
    for name in ("left", "right", "lexical"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))

"""Average precision of each text is scikit-learn's, dense, sparse and of candidate pairs alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

from twicetold.evaluation.inputs import DocumentVectors
from twicetold_lab.evaluation import text_ranking
from twicetold_lab.evaluation.text_ranking import rank_candidates, rank_texts


def expected(similarity, codes):
    rows = [(similarity[text], np.arange(len(codes)) != text, text) for text in range(len(codes))]
    return [
        average_precision_score(codes[others] == codes[text], scores[others])
        for scores, others, text in rows
        if (codes[others] == codes[text]).any()
    ]


@pytest.mark.parametrize("sparsely", [False, True])
def test_it_is_scikit_learns_with_ties_in_blocks_and_without_texts_of_unknown_group(sparsely, monkeypatch):
    monkeypatch.setattr(text_ranking, "BLOCK", 200)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (60, 4)).astype(np.float32)
    codes = rng.integers(-1, 15, 60)
    matrix = sparse.csr_matrix(values) if sparsely else values
    found = rank_texts(DocumentVectors(matrix, matrix, {"story": codes}), "story")
    known = codes >= 0
    assert found.values == pytest.approx(expected((values @ values.T)[np.ix_(known, known)], codes[known]))
    assert found.mean == pytest.approx(found.values.mean())
    assert found.interval[0] < found.mean < found.interval[1]
    assert len(found.units.terms) == len(np.unique(found.groups))


def test_pairs_that_are_no_candidates_rank_below_all_others():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 12, 40)
    left, right = np.triu_indices(40, 1)
    kept = rng.random(len(left)) < 0.3
    score = rng.normal(size=len(left)).round(1)
    similarity = np.full((40, 40), -100.0)
    similarity[left[kept], right[kept]] = similarity[right[kept], left[kept]] = score[kept]
    found = rank_candidates(left[kept], right[kept], score[kept], codes)
    assert found.values == pytest.approx(expected(similarity, codes))


def test_texts_of_which_no_two_are_of_one_group_cannot_be_ranked():
    with pytest.raises(ValueError, match="no text has another of its group"):
        rank_texts(DocumentVectors(np.eye(3), np.eye(3), {"story": np.arange(3)}), "story")

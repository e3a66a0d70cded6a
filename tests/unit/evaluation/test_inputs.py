"""Inputs that cannot be evaluated are refused with a reason."""

import numpy as np
import pytest
from scipy import sparse

from twicetold.evaluation.inputs import DocumentVectors, ScoredPairs, binary

ONES = np.ones((3, 2), dtype=np.float32)
CODES = {"category": np.array([0, 0, 1])}


@pytest.mark.parametrize(
    ("score", "label", "message"),
    [
        (np.array([0.1, np.nan]), np.array([0, 1]), "1 of 2 scores are NaN or infinite: training may have diverged"),
        (np.array([0.1, np.inf]), np.array([0, 1]), "1 of 2 scores"),
        (np.array([0.1, 0.2]), np.array([0, np.nan]), "1 of 2 labels"),
        (np.array([0.1, 0.2]), np.array([0]), r"got shapes \(2,\) and \(1,\)"),
        (np.array([]), np.array([]), "there are no scores"),
    ],
)
def test_bad_pairs_are_refused(score, label, message):
    with pytest.raises(ValueError, match=message):
        ScoredPairs(score, label)


@pytest.mark.parametrize(
    ("left", "right", "groups", "message"),
    [
        (ONES, ONES[:2], CODES, "one shape"),
        (ONES, sparse.csr_matrix(ONES), CODES, "both dense or both sparse"),
        (ONES, ONES, {}, "at least one group"),
        (ONES, ONES, {"category": np.zeros(2, int)}, "group 'category' has shape"),
        (ONES * np.nan, ONES, CODES, "6 of 6 vectors are NaN"),
        (sparse.csr_matrix(ONES * np.inf), sparse.csr_matrix(ONES), CODES, "6 of 6 vectors are NaN or infinite"),
    ],
)
def test_bad_documents_are_refused(left, right, groups, message):
    with pytest.raises(ValueError, match=message):
        DocumentVectors(left, right, groups)


def test_documents_with_empty_sparse_rows_are_accepted():
    empty = sparse.csr_matrix((3, 5), dtype=np.float32)
    assert len(DocumentVectors(empty, empty, CODES)) == 3


def test_labels_are_0_and_1_and_both_occur():
    assert binary([0, 1, 1]).tolist() == [False, True, True]
    with pytest.raises(ValueError, match=r"expected labels 0 or 1, got also \[2\]"):
        binary([0, 1, 2])
    with pytest.raises(ValueError, match="all 2 labels are 1"):
        binary([1.0, 1.0])


def test_labels_that_know_the_same_documents_are_evaluated_together():
    groups = {"a": np.array([0, -1, 1]), "b": np.array([5, -1, 5]), "c": np.array([0, 0, 1])}
    parts = [
        (rows.tolist(), sorted(part.groups), len(part)) for rows, part in DocumentVectors(ONES, ONES, groups).by_known()
    ]
    assert parts == [([0, 2], ["a", "b"], 2), ([0, 1, 2], ["c"], 3)]


def test_a_group_that_is_unknown_for_every_document_is_named_in_the_error():
    vectors = DocumentVectors(ONES, ONES, {"story": np.full(3, -1)})
    with pytest.raises(ValueError, match="group 'story' is unknown for every document"):
        list(vectors.by_known())

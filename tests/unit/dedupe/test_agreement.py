"""Links and groups beside known groups."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from twicetold.commands._dedupe_messages import MEASURES
from twicetold.dedupe.agreement import KnownGroups


@pytest.fixture
def many(questions):
    return questions.texts.to_pylist() * 2


@pytest.fixture
def truth(many):
    """Three texts are a story, twice; of some rows it is not known."""
    story = [f"story {n % (len(many) // 2) // 3}" for n in range(len(many))]
    return [None if n % 11 == 0 else "" if n % 13 == 0 else each for n, each in enumerate(story)]


def pairs_of(known):
    left, right = np.triu_indices(len(known), 1)
    return known[left], known[right]


@pytest.mark.parametrize("kind", ["lexical", "vectors"])
def test_measures_are_those_of_all_pairs_of_rows_whose_group_is_known(kind, many, truth, by_similarity, by_cosine):
    vectors = np.random.default_rng(0).normal(size=(len(many) // 2, 16))
    vectors = np.concatenate([vectors, vectors])
    model = by_similarity(many, 0.35) if kind == "lexical" else by_cosine(many, vectors)
    found = model.dedupe(many, truth=truth)
    seen, known = found.summary.agreement.measures, np.array([n for n, each in enumerate(truth) if each])
    codes, left, right = np.unique([str(each) for each in truth], return_inverse=True)[1], *pairs_of(known)
    same = codes[left] == codes[right]
    assert found.summary.agreement.rows == len(known)
    assert found.summary.agreement.pairs == same.sum()
    assert found.summary.agreement.groups == (np.bincount(codes[known]) > 1).sum()
    assert seen["ari"].value == pytest.approx(adjusted_rand_score(codes[known], found.group[known]))
    together = found.group[left] == found.group[right]
    assert seen["pair_f1"].value == pytest.approx(2 * (same & together).sum() / (same.sum() + together.sum()))
    for name, measured in seen.items():
        assert measured.low <= measured.value <= measured.high, name


def test_links_are_between_distinct_texts_with_the_first_known_group_of_each(many, truth, by_similarity):
    found = by_similarity(many, 0.35).dedupe(many, truth=truth)
    group = dict[int, str]()
    for row, each in enumerate(truth):
        if each:
            group.setdefault(int(found.exact[row]), each)
    ends = zip(found.links.left.tolist(), found.links.right.tolist(), strict=True)
    links = [(group[one], group[other]) for one, other in ends if one in group and other in group]
    right = sum(one == other for one, other in links)
    left, other = pairs_of(np.array(sorted(group)))
    pairs = sum(group[a] == group[b] for a, b in zip(left.tolist(), other.tolist(), strict=True))
    seen = found.summary.agreement.measures
    assert 0 < right < len(links)
    assert seen["link_precision"].value == pytest.approx(right / len(links))
    assert seen["link_recall"].value == pytest.approx(right / pairs)
    assert 0 < seen["text_precision"].value < 1


def test_groups_that_are_right_agree_and_what_is_undefined_is_left_out(many, by_cosine):
    texts = [f"{text} {n}" for n, text in enumerate(many[:12])]
    vectors = np.repeat(np.eye(4), 3, axis=0)
    found = by_cosine(texts, vectors).dedupe(texts, threshold=0.9, truth=np.repeat(np.arange(4), 3))
    assert set(found.summary.agreement.measures) == set(MEASURES)
    assert all(measured.value == pytest.approx(1) for measured in found.summary.agreement.measures.values())
    nothing = by_cosine(texts, np.eye(12)).dedupe(texts, threshold=0.9, truth=np.repeat(np.arange(4), 3))
    measures = nothing.summary.agreement.measures
    assert not {"link_precision", "text_precision"} & set(measures)
    assert measures["link_recall"].value == measures["pair_f1"].value == 0


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["a", "a"], ValueError, "expected a value for each of 4 texts, got 2"),
        (["a", "b", None, "c"], ValueError, "got 3 groups of 3 rows with a value"),
        (["a", "a", "a", "a"], ValueError, "expected at least two groups, and one of two or more rows.* got 1 groups"),
        ([None] * 4, ValueError, "got 0 groups of 0 rows"),
        ([[1], [1], [2], [2]], TypeError, "expected plain values"),
        ("aabb", TypeError, "got one text"),
    ],
)
def test_values_that_are_no_groups_are_named(values, error, message):
    with pytest.raises(error, match=message):
        KnownGroups.of(4, values)


def test_measures_of_very_many_groups_have_no_interval(many, truth, by_similarity, monkeypatch):
    monkeypatch.setattr("twicetold.dedupe.agreement.MOST_CELLS", 1)
    seen = by_similarity(many, 0.35).dedupe(many, truth=truth).summary.agreement.measures
    assert {name: seen[name].low is None for name in ("link_recall", "ari", "b3")} == {
        "link_recall": False,
        "ari": True,
        "b3": True,
    }

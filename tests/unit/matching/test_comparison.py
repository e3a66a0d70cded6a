"""Candidate pairs of texts and their features, and groups by them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from twicetold.matching import comparison as comparison_module
from twicetold.matching import pair_features as pair_features_module
from twicetold.matching.comparison import CUT, LEAST_CUT, Comparison, best_cut
from twicetold.matching.matcher import Matcher

TEXTS = [
    "Canon EOS-70D camera, 18 MP",
    "canon eos70d camera",
    "Canon EOS 80D camera 24 mp",
    "Nikon D750 camera",
    "nikon d 750 (camera)",
    "a tripod of aluminium",
    "aluminum tripod",
    "",
    "blue garden hose 10 m",
    "blue garden hose 20 m",
]


def vectors(texts: list[str]) -> np.ndarray:
    rows = np.array([np.random.default_rng(len(text) + sum(map(ord, text.lower()))).normal(size=8) for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def compare(texts: list[str], *, with_vectors: bool = False, **options: Any) -> Comparison:
    return Comparison.of(texts, encode=lambda ordered, _: vectors(ordered) if with_vectors else None, **options)


def test_features_do_not_depend_on_case_or_invisible_characters() -> None:
    plain = compare(TEXTS)
    folded = compare([text.upper().replace("A", "A\N{SOFT HYPHEN}") for text in TEXTS])
    for name, column in plain.columns.items():
        np.testing.assert_allclose(column, folded.columns[name], atol=1e-6, err_msg=name)


def test_all_features_are_finite_and_named_alike_for_an_empty_file() -> None:
    names = set(compare(TEXTS).columns)
    for texts in (["one text"], ["a", "b"], ["", "?"], TEXTS):
        compared = compare(texts)
        assert set(compared.columns) == names
        assert all(np.isfinite(column).all() for column in compared.columns.values())
        assert all(len(column) == len(compared.pairs) for column in compared.columns.values())


def test_features_and_log_odds_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        f"{colour} {thing} {size} m" for colour in ("red", "blue") for thing in ("tent", "hose") for size in range(9)
    ]
    whole = compare(texts, with_vectors=True)
    for name, size in (("BLOCK", 7), ("TOLD", 20)):
        monkeypatch.setattr(comparison_module, name, size)
    monkeypatch.setattr(pair_features_module, "TEXTS", 5)
    told: list[str] = []
    blocks = compare(texts, with_vectors=True, progress=told.append)
    places = np.array([40, 3, 17])
    some = blocks.features(places)
    assert set(some) == set(whole.columns)
    for name, column in whole.columns.items():
        assert some[name].tolist() == column[places].tolist(), name
        assert blocks.columns[name].tolist() == column.tolist(), name
    assert blocks.log_odds.tolist() == whole.matcher.log_odds(whole.columns).tolist()
    assert told[-2:] == [
        "looking for the nearest of 36 texts by terms",
        f"comparing {len(whole.pairs):,} pairs",
    ]
    kept = blocks.where(blocks.pairs.left % 2 == 0)  # each stands among all candidates still
    assert kept.matcher.log_odds(kept.columns).tolist() == kept.log_odds.tolist()


def test_groups_do_not_chain() -> None:
    compared = compare(["a b c d", "b c d e", "c d e f", "d e f g"])
    left, right = compared.ends
    chained = np.where(right - left == 1, 0.7, 0.0)
    assert max(np.bincount(compared.groups(chained))) == 2


@pytest.mark.parametrize(
    ("texts", "feature", "worth"),
    [
        (["Canon EOS-70D camera", "canon eos70d"], "codes_agree", 1),
        (["camera Canon 70DX", "camera Canon 80DX"], "codes_contradict_all", 1),
        (["hose 10 m", "hose 20 m"], "units_contradict", np.log(2)),
        (["hose 10 m", "hose 10m"], "units_contradict", 0),
        (["learn c++ now", "learn c now"], "numbers_alone_larger", np.log(3)),
        (["salt & pepper", "salt @ pepper"], "symbols_differ", np.log(3)),
        (["learn c++ now", "learn c# now"], "symbols_differ", 0),
        (["learn c++ now", "learn c# now"], "signs_contradict", 1),
        (["hose at $5", "hose at €5"], "numbers_agree", 0),
        (["the receiver", "the receivr"], "alike_share", 1),
        (["j smith, university", "john smith univ"], "alike_share", 1),
        (["a play station", "a playstation"], "alike_share", 1),
        (["some-words", "some words"], "squeezed_equal", 1),
    ],
)
def test_a_feature_tells_what_its_name_says(texts: list[str], feature: str, worth: float) -> None:
    columns = compare(texts).columns
    assert columns[feature].tolist() == pytest.approx([worth])


@pytest.mark.parametrize("with_vectors", [False, True])
def test_pairs_of_two_tables_are_across_them(with_vectors: bool) -> None:
    texts = [*TEXTS[:4], TEXTS[0], *TEXTS[4:]]
    left, right = compare(texts, with_vectors=with_vectors, split=4).ends
    assert len(left)
    assert (left < 4).all()
    assert (right >= 4).all()
    assert (0, 4) in set(zip(left.tolist(), right.tolist(), strict=True))  # equal texts are a pair here


def test_the_number_of_pairs_grows_with_the_texts_and_not_with_their_square() -> None:
    texts = [f"the same words for all, number {number}" for number in range(400)]
    assert len(compare(texts, nearest=5).pairs) <= 5 * 400


def test_a_small_file_is_grouped_by_the_generic_matcher() -> None:
    groups = [["canon eos70d digital camera", "Canon EOS-70D, digital camera"], ["nikon d750 body", "Nikon D-750 body"]]
    texts = [text for group in groups for text in group] + [f"thing {n} of kind {n * 7919}" for n in range(30)]
    compared = compare(texts)
    found = compared.groups()
    assert found[0] == found[1] != found[2]
    assert found[2] == found[3]


@pytest.mark.parametrize("texts", [[], ["one"], ["☺☺", "€€ %", "++", "", "🎉"]])
@pytest.mark.parametrize("split", [None, 0])
def test_tables_without_pairs_have_a_group_for_each_text(texts: list[str], split: int | None) -> None:
    for options in ({}, {"encode": lambda _, order: np.eye(16, dtype=np.float32)[order]}):
        compared = Comparison.of(texts, also=[texts], split=split, **options)
        assert len(set(compared.groups().tolist())) == len(texts)
        assert len(compared.pairs) == 0


def test_candidates_of_codes_that_share_a_letter_grow_with_the_texts_and_not_with_their_square() -> None:
    compared = compare([f"A-{number:06d}" for number in range(3_000)])
    assert len(compared.pairs) <= 10 * 3_000
    assert len(set(compared.groups().tolist())) == 3_000


@pytest.mark.parametrize("seed", range(5))
def test_no_number_of_links_has_a_higher_expected_f1_than_those_from_the_best_cut_on(seed: int) -> None:
    probability = np.random.default_rng(seed).beta(0.6, 0.6, 40).round(1)  # with ties
    cut = best_cut(probability, 1)
    every = [2 * probability[kept].sum() / (kept.sum() + probability.sum()) for kept in kept_from(probability)]
    chosen = probability >= cut
    assert 2 * probability[chosen].sum() / (chosen.sum() + probability.sum()) == pytest.approx(max(every))


def test_the_best_cut_counts_pairs_as_they_were_answered() -> None:
    compared = compare(TEXTS)
    left, right = compared.ends
    odds = [compared.best_cut(left, right, np.full(len(left), same)) for same in (False, True)]
    assert odds == [pytest.approx(np.log(LEAST_CUT / (1 - LEAST_CUT))), 0]


def kept_from(probability: np.ndarray) -> list[np.ndarray]:
    return [probability >= each for each in np.unique(probability)]


def test_the_cut_is_one_half_before_answers_and_never_so_low_that_most_links_would_be_wrong() -> None:
    probability = np.full(1_000, 0.05)
    assert best_cut(probability, 0) == CUT
    assert best_cut(probability, 1) == LEAST_CUT
    assert best_cut(np.empty(0), 1) == LEAST_CUT


class Lengths:
    """A model whose score is higher the nearer the lengths of two texts are."""

    def __init__(self, texts: list[str]) -> None:
        self.length = np.array([len(text) for text in texts], np.float32)

    def score(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return -np.abs(self.length[left] - self.length[right])


def test_the_score_of_a_model_is_a_feature_with_its_standing_in_any_order_of_the_texts() -> None:
    compared = compare(TEXTS, read=lambda texts, _: Lengths(texts))
    left, right = compared.ends
    expected = Lengths(TEXTS).score(left, right)
    assert compared.columns["score"].tolist() == expected.tolist()
    standing = {name.replace("lexical", "score") for name in compared.columns if name.startswith("lexical")}
    assert standing <= set(compared.columns)
    assert compared.columns["score_over"].std() > 0
    np.testing.assert_array_equal(compared.log_odds, compare(TEXTS).log_odds)  # nothing before labels


def test_pairs_that_are_no_candidates_are_scored_by_the_model_as_well() -> None:
    one = np.array([0.0, 1.0])
    matcher = Matcher(("score",), np.zeros(1), np.ones(1), one, one, np.zeros((0, 2)), 0.3)
    compared = compare(TEXTS, read=lambda texts, _: Lengths(texts), matcher=matcher)
    left, right = np.triu_indices(len(TEXTS), 1)
    assert (compared.candidate(left, right) < 0).any()
    assert compared.score(left, right).tolist() == Lengths(TEXTS).score(left, right).tolist()
    some = compared.where(compared.columns["score"] > -3)
    assert some.pairs.score is not None
    assert some.pairs.score.tolist() == some.columns["score"].tolist()


def test_a_pair_that_is_no_candidate_scores_the_same_whichever_others_are_asked_about() -> None:
    names = [
        f"{colour} {thing} {size}" for colour in ("red", "blue") for thing in ("tent", "hose") for size in range(9)
    ]
    vectors = np.random.default_rng(0).normal(size=(len(names), 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    compared = Comparison.of(names, encode=lambda _, order: vectors[order], nearest=3)
    left, right = np.triu_indices(len(names), 1)
    assert np.count_nonzero(compared.candidate(left, right) < 0) > 100
    together = compared.score(left, right)
    alone = [compared.score(left[[pair]], right[[pair]])[0] for pair in range(0, len(left), 7)]
    np.testing.assert_allclose(together[::7], alone, rtol=1e-6)
    np.testing.assert_array_equal(compared.score(np.append(right, left), np.append(left, right)), np.tile(together, 2))


def test_a_candidate_that_is_left_out_scores_what_it_scored_as_one() -> None:
    compared = Comparison.of(TEXTS, read=lambda ordered, _: Lengths(ordered))
    left, right = compared.ends
    for pair, expected in enumerate(compared.log_odds.tolist()):
        others = compared.where(np.arange(len(left)) != pair)
        assert others.score(left[[pair]], right[[pair]]).tolist() == pytest.approx([expected], rel=1e-5)


PLACES = (
    "department of mechanical engineering, university of sheffield",
    "royal botanic garden of edinburgh, scotland",
    "institute for high energy physics, heidelberg",
    "national museum of natural history, paris",
)


def misspelt(count: int = 40) -> list[str]:
    """Each of the places so many times, with two letters exchanged and perhaps a word more."""
    rng, texts = np.random.default_rng(0), dict[str, None]()
    for number, place in enumerate(PLACES, 1):
        while len(texts) < number * count:
            at = int(rng.integers(1, len(place) - 1))
            end = ("", " ltd", " inc")[int(rng.integers(3))]
            texts[place[:at] + place[at + 1] + place[at] + place[at + 2 :] + end] = None
    return list(texts)


def largest(groups: np.ndarray) -> int:
    return int(np.bincount(groups).max())


def test_a_group_may_be_larger_than_a_list_of_candidates_unless_its_pairs_may_not_be_linked() -> None:
    compared = compare(misspelt()).in_valley()
    assert np.sort(np.bincount(compared.groups()))[-4:].min() > 20
    assert largest(replace(compared, allowed=lambda left, _: np.zeros(len(left), bool)).groups()) <= 12
    assert largest(compared.groups(within=np.arange(len(compared)) % 3)) <= 40 / 3 + 1


def test_large_groups_do_not_depend_on_the_order_of_the_texts() -> None:
    texts = misspelt()
    order = np.random.default_rng(1).permutation(len(texts))
    groups, turned = (compare(each).in_valley().groups() for each in (texts, [texts[row] for row in order]))
    np.testing.assert_array_equal(turned[:, None] == turned, groups[order][:, None] == groups[order])

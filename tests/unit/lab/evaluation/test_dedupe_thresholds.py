"""What can be promised of links and groups over all pairs of a split or by labelled pairs, and what is kept."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from twicetold.evaluation import link_metrics
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.guarantee import carried_over
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.link_metrics import link_statistics, links_above, text_precision
from twicetold.evaluation.thresholds import DedupeThresholds
from twicetold.neighbours.grouping import RULES, Links, merge
from twicetold_lab.evaluation.dedupe_report import report
from twicetold_lab.evaluation.dedupe_thresholds import choose, guarantee


def stories(count=60, size=5, noise=0.3, seed=0):
    """Documents near the centre of their story; those of the last story have no story that is known."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(count), size)
    vectors = rng.standard_normal((count, 16))[codes] + 3 * noise * rng.standard_normal((len(codes), 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    codes[codes == count - 1] = -1
    return DocumentVectors(vectors, vectors, {"story": codes, "category": codes % 3})


def pairs_of(vectors):
    """Similarity and truth of all pairs of documents whose story is known."""
    known = vectors.groups["story"] >= 0
    codes = vectors.groups["story"][known]
    left, right = np.triu_indices(len(codes), 1)
    return (vectors.left[known] @ vectors.right[known].T)[left, right], codes[left] == codes[right]


def test_what_is_promised_is_of_the_links_from_the_lowest_chosen_threshold_on():
    vectors = stories(noise=0.2)
    chosen = choose(vectors, "story", aimed=(0.5, 0.8))
    known = vectors.take(np.flatnonzero(vectors.groups["story"] >= 0))
    links = links_above(known, min(chosen.f1_threshold, *(each.threshold for each in chosen.links)))
    assert chosen.guarantee == guarantee(known.groups["story"], links)
    assert chosen.promised[-1].links == len(links)
    stored = json.loads(json.dumps(chosen.to_json()))
    assert DedupeThresholds.from_json(stored) == chosen
    del stored["promised"]  # of an earlier version
    assert DedupeThresholds.from_json(stored) == replace(chosen, promised=())
    unreached = choose(stories(noise=1.0), "story", aimed=(0.5, 0.99), complete=False)
    assert DedupeThresholds.from_json(json.loads(json.dumps(unreached.to_json()))) == unreached


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_links_are_all_pairs_from_a_similarity_on(kind, monkeypatch):
    monkeypatch.setattr(link_metrics, "BLOCK", 1000)  # blocks of three rows
    dense = np.maximum(stories().left, 0)
    vectors = kind(dense)
    links = links_above(DocumentVectors(vectors, vectors, {"story": np.arange(300)}), 0.2)
    similar = dense @ dense.T
    left, right = np.nonzero(np.triu(similar >= 0.2, 1))
    np.testing.assert_array_equal(links.left, left)
    np.testing.assert_array_equal(links.right, right)
    np.testing.assert_allclose(links.similarity, similar[left, right], atol=1e-6)


def test_the_threshold_is_the_lowest_that_keeps_the_aimed_precision():
    vectors = stories(noise=0.2)
    similar, same = pairs_of(vectors)
    chosen = choose(vectors, "story", aimed=(0.6, 0.8, 0.9))
    for each in chosen.links:
        above = similar >= each.threshold
        assert same[above].mean() == pytest.approx(each.precision, abs=1e-3)
        assert above[same].mean() == pytest.approx(each.recall, abs=1e-3)
        assert each.precision >= each.aimed
        lower = np.sort(similar[similar < each.threshold - 1e-4])[::-1]
        reached = [same[similar >= value].mean() >= each.aimed + 1e-3 for value in lower[:2000:7]]
        assert not any(reached)
    assert chosen.texts == 295
    assert chosen.duplicates == same.sum() == 59 * 10


def test_what_is_promised_is_kept_on_the_same_documents():
    vectors = stories(noise=0.2)
    chosen = choose(vectors, "story", aimed=(0.8, 0.9))
    assert None not in [each.threshold for each in chosen.links]
    found = report(vectors, chosen, resamples=200)
    assert found.ranked.average_precision == pytest.approx(chosen.average_precision)
    low, high = found.ranked.average_precision_interval
    assert low < found.ranked.average_precision < high
    for kept, promised in zip(found.links, chosen.links):
        assert kept.precision == pytest.approx(promised.precision, abs=1e-3)
        assert kept.recall == pytest.approx(promised.recall, abs=1e-3)
        for name in ("precision", "recall", "text_precision"):
            low, high = kept.intervals[name]
            assert low < getattr(kept, name) < high
    for each in chosen.grouping:
        assert found.groups[each.rule].ari == pytest.approx(each.ari, abs=1e-6)


def test_metrics_name_what_was_promised_and_what_was_kept():
    vectors = stories(noise=0.2)
    chosen = choose(vectors, "story", aimed=(0.8, 1 + 1e-9))
    found = report(vectors, chosen, resamples=50)
    val, test = found.metrics["val"], found.metrics["test"]
    assert val["link_precision_at_80"] == chosen.links[0].precision
    assert val["link_precision_at_100"] == chosen.links[1].precision <= 1
    assert chosen.links[1].threshold is None
    assert test["link_recall_at_80"] == found.links[0].recall
    assert test["link_ari_at_80"] == found.links[0].components.ari
    assert not [name for name in test if name.endswith("_at_100")]
    assert val["average_precision_story"] == chosen.average_precision
    similar, same = pairs_of(vectors)
    assert val["auroc_story"] == test["auroc_story"] == pytest.approx(roc_auc_score(same, similar), abs=1e-3)
    assert {f"{measure}_{rule}" for rule in RULES for measure in ("ari", "b3", "pair_f1")} < set(test)
    of_groups = {f"{measure}_{rule}" for rule in RULES for measure in ("ari", "b3", "pair_f1")}
    of_links = {f"link_{name}_at_80" for name in ("precision", "recall", "text_precision", "ari")}
    ranked = {"average_precision_story", "text_average_precision_story"}
    assert set(found.intervals["test"]) == ranked | of_links | of_groups
    assert set(found.units) == {"text_average_precision_story", "b3_average"}
    assert all(low <= test[name] <= high for name, (low, high) in found.intervals["test"].items())


def test_a_report_without_the_ranking_differs_in_nothing_else():
    vectors = stories(noise=0.2)
    chosen = choose(vectors, "story", aimed=(0.8,))
    full, part = (report(vectors, chosen, ranked=ranked, resamples=50) for ranked in (True, False))
    ranking = {"auroc_story", "average_precision_story"}
    assert part.metrics["test"] == {k: v for k, v in full.metrics["test"].items() if k not in ranking}
    assert part.intervals["test"] == {k: v for k, v in full.intervals["test"].items() if k not in ranking}


def test_no_other_threshold_of_a_rule_has_a_higher_ari():
    vectors = stories(count=20)
    known = vectors.take(np.flatnonzero(vectors.groups["story"] >= 0))
    chosen = choose(vectors, "story", aimed=(0.8,))
    for rule in RULES:
        best = chosen.rule(rule)
        for threshold in np.linspace(0.3, 0.95, 14):
            links = links_above(known, threshold)
            codes = merge(links, rule=rule, threshold=threshold, vectors=(known.left, known.right)).cut(threshold)
            assert group_scores(codes, known.groups["story"]).ari <= best.ari + 1e-6


def test_a_precision_that_is_not_reached_is_said_and_not_reported():
    vectors = stories(noise=3.0)
    chosen = choose(vectors, "story", aimed=(0.99,))
    assert chosen.links[0].threshold is None
    assert 0 < chosen.links[0].precision < 0.99
    assert report(vectors, chosen, resamples=50).links == ()


def test_precision_and_recall_of_a_resample_are_those_of_its_stories():
    """Against the same with copies of documents: a story that is drawn twice is two stories without common pairs."""
    vectors = stories(count=12, size=4)
    codes = np.where(vectors.groups["story"] < 0, 11, vectors.groups["story"])
    links = links_above(vectors, 0.4)
    statistics = link_statistics(codes, links)
    drawn = np.random.default_rng(1).integers(0, 12, (5, 12))
    weights = np.stack([np.bincount(row, minlength=12) for row in drawn]).astype(float)
    linked = set(zip(links.left.tolist(), links.right.tolist()))
    for row, precision, recall in zip(drawn, *(statistic(weights) for statistic in statistics)):
        texts = [(copy, text) for copy, story in enumerate(row) for text in np.flatnonzero(codes == story)]
        right = wrong = every = 0
        for copy, one in texts:
            for another, other in texts:
                if (copy != another and row[copy] == row[another]) or (copy, one) >= (another, other):
                    continue
                pair = (min(one, other), max(one, other)) in linked
                every += copy == another
                right += pair and copy == another
                wrong += pair and copy != another
        assert precision == pytest.approx(right / (right + wrong))
        assert recall == pytest.approx(right / every)


def test_precision_by_text_is_the_mean_over_linked_texts_also_without_each_story():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(12), 4)
    links = Links.of(48, rng.integers(0, 48, 60), rng.integers(0, 48, 60), rng.random(60))

    def naive(texts):
        shares = defaultdict(list)
        for one, other in zip(links.left.tolist(), links.right.tolist()):
            if texts[one] and texts[other]:
                shares[one].append(codes[one] == codes[other])
                shares[other].append(codes[one] == codes[other])
        return np.mean([np.mean(each) for each in shares.values()])

    value, without = text_precision(codes, links)
    assert value == pytest.approx(naive(np.ones(48, bool)))
    assert without == pytest.approx(np.array([naive(codes != story) for story in range(12)]))


def test_precision_falls_in_a_larger_corpus_of_the_same_kind():
    """Ten times as many stories of the same kind have ten times as many false links for each text."""
    threshold, (small, large) = 0.7, (60, 600)
    found = []
    for count, seeds in ((small, 10), (large, 1)):  # the small ones together have as many texts
        pairs = [pairs_of(stories(count=count + 1, seed=seed)) for seed in range(seeds)]
        found.append(np.concatenate([same[similar >= threshold] for similar, same in pairs]).mean())
    assert carried_over(found[0], measured_on=5 * small, texts=5 * small) == pytest.approx(found[0])
    assert carried_over(found[0], measured_on=5 * small, texts=5 * large) == pytest.approx(found[1], abs=0.03)
    assert found[1] < found[0] - 0.3


def test_documents_of_one_story_only_are_refused():
    vectors = stories(count=2)
    with pytest.raises(ValueError, match="ranking needs positive and negative pairs"):
        choose(vectors, "story")

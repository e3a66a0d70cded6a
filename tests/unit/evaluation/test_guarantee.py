"""What links promise: against counting, and by drawing files of a population whose precision is known."""

import math

import numpy as np
import pytest

from twicetold.evaluation.guarantee import SHARE_OF_FILES, Guarantee, LinkCurve, guarantee
from twicetold.evaluation.link_metrics import FEWEST_LINKS, link_statistics, text_precision
from twicetold.neighbours.grouping import Links


def drawn_file(rng, count):
    """Stories of two to ten texts near a centre of their own; every ninth is near that of another story."""
    sizes = 1 + rng.geometric(0.4, count).clip(max=9)
    centres = rng.standard_normal((count, 24))
    close = np.arange(0, count - 1, 9)
    centres[close + 1] = centres[close] + 0.4 * rng.standard_normal((len(close), 24))
    codes = np.repeat(np.arange(count), sizes)
    vectors = centres[codes] + rng.gamma(2, 0.3, (count, 1))[codes] * rng.standard_normal((len(codes), 24))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = vectors @ vectors.T
    left, right = np.nonzero(np.triu(similar >= 0.4, 1))
    return codes, Links(len(codes), left, right, similar[left, right])


def precision_from(codes, links, threshold):
    strong = links.at_least(threshold)
    return (codes[strong.left] == codes[strong.right]).mean() if len(strong) else math.nan


def test_each_threshold_has_the_precision_and_the_recall_of_its_links():
    codes, links = drawn_file(np.random.default_rng(0), 150)
    found = guarantee(codes, links)
    sizes = np.bincount(codes)
    thresholds = [each.threshold for each in found.at]
    assert thresholds == sorted(set(thresholds), reverse=True)
    assert found.at[0].links >= FEWEST_LINKS
    assert found.at[-1].links == len(links)
    for each in found.at:
        strong = links.at_least(each.threshold)
        once = np.ones((1, len(sizes)))
        assert len(strong) == each.links
        assert each.precision == pytest.approx(precision_from(codes, links, each.threshold))
        assert each.recall == pytest.approx(link_statistics(codes, strong)[1](once)[0])
        assert each.text_precision == pytest.approx(text_precision(codes, strong)[0])
        assert each.groups == len(np.unique(codes[np.append(strong.left, strong.right)]))


def test_a_resample_of_the_curve_is_that_of_the_links_of_each_threshold():
    rng = np.random.default_rng(3)
    codes, links = drawn_file(rng, 60)
    curve = LinkCurve(codes, links)
    drawn = np.stack([np.bincount(rng.integers(0, 60, 60), minlength=60) for _ in range(4)]).astype(float)
    values = curve(drawn)
    for place, threshold in enumerate(curve.thresholds):
        strong = links.at_least(threshold)
        assert values[:, place] == pytest.approx(link_statistics(codes, strong)[0](drawn))


@pytest.mark.parametrize(("texts_ratio", "aim"), [(1, 0.75), (3, 0.6)])
def test_nine_of_ten_files_keep_a_promise(texts_ratio, aim):
    """The promise comes from one draw of stories, the file from another one, of the same or of another size."""
    rng, stories = np.random.default_rng(8), 150
    kept = made = 0
    for _ in range(40):
        codes, links = drawn_file(rng, stories)
        known = guarantee(codes, links)
        for _ in range(3):
            other, their_links = drawn_file(rng, stories * texts_ratio)
            promised = known.reaching(aim, len(other))
            if promised is not None:
                made += 1
                kept += precision_from(other, their_links, promised.threshold) >= aim
    assert made >= 40
    assert kept / made >= SHARE_OF_FILES - 0.03


def test_in_a_larger_file_less_is_expected_and_a_higher_threshold_is_needed():
    codes, links = drawn_file(np.random.default_rng(1), 300)
    found = guarantee(codes, links)
    same, larger = (found.of(found.at[5], texts) for texts in (len(codes), 10 * len(codes)))
    assert same.expected == pytest.approx(found.at[5].precision, abs=0.01)
    assert larger.expected < same.expected
    assert same.least < same.expected
    assert same.text_least < same.text_expected
    promised, with_more = (found.reaching(0.7, texts) for texts in (len(codes), 2 * len(codes)))
    assert promised.least >= 0.7
    assert with_more is None or with_more.threshold >= promised.threshold
    assert found.reaching(0.9999, len(codes)) is None


def test_links_without_an_error_promise_less_than_certainty():
    codes = np.repeat(np.arange(120), 2)
    links = Links(240, np.arange(0, 240, 2), np.arange(1, 240, 2), np.linspace(1, 0.5, 120))
    promised = guarantee(codes, links).at[-1]
    assert promised.precision == 1
    assert 0.85 < Guarantee(240, (promised,)).of(promised, 240).least < 0.999


def test_few_links_promise_nothing():
    codes, links = drawn_file(np.random.default_rng(0), 60)
    few = links.take(np.argsort(-links.similarity)[: FEWEST_LINKS - 1])
    assert guarantee(codes, few).at == ()
    assert guarantee(codes, links.take(np.empty(0, int))).reaching(0.5, 100) is None


def test_a_threshold_between_two_known_ones_has_what_the_lower_one_promises():
    codes, links = drawn_file(np.random.default_rng(0), 150)
    found = guarantee(codes, links)
    between = (found.at[3].threshold + found.at[4].threshold) / 2
    assert found.at_threshold(between, 200) == found.of(found.at[4], 200)
    assert found.at_threshold(found.at[-1].threshold - 0.01, 200) is None

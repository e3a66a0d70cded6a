"""What links promise: against counting, and by drawing files of a population whose precision is known."""

import math

import numpy as np
import pytest

from twicetold.evaluation.guarantee import Guarantee, MeasuredLinks, carried_over
from twicetold.evaluation.link_metrics import FEWEST_LINKS, link_statistics, text_precision
from twicetold.neighbours.grouping import Links
from twicetold_lab.evaluation.dedupe_thresholds import SHARE_OF_FILES, LinkCurve, guarantee


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


def measured(threshold, precision, *, groups=50, spread=0.3):
    """Links of one threshold; what no test looks at is alike."""
    return MeasuredLinks(threshold, 200, groups, precision, spread, precision, spread, 0.5)


@pytest.mark.parametrize("precision", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("known", "texts"), [(100, 100), (100, 1_000), (1_000, 100)])
def test_a_limit_is_that_of_the_formula(precision, known, texts):
    def by_formula(spread):
        odds = math.log(precision / (1 - precision)) - math.log((texts - 1) / (known - 1))
        return 1 / (1 + math.exp(-(odds - 1.6448536269514722 * spread * math.sqrt(1 + known / texts))))

    found = Guarantee(known, ()).of(measured(0.7, precision), texts)
    assert (found.expected, found.least) == pytest.approx((by_formula(0.0), by_formula(0.3)))
    assert (found.text_expected, found.text_least) == pytest.approx((by_formula(0.0), by_formula(0.3)))


def test_a_threshold_below_one_that_misses_the_precision_is_not_taken_whatever_it_has():
    at = tuple(measured(0.9 - 0.1 * place, precision) for place, precision in enumerate((0.5, 0.99, 0.98, 0.6, 0.99)))
    assert Guarantee(100, at).reaching(0.9, 100).threshold == pytest.approx(0.7)


@pytest.mark.parametrize("right", [120, 60])
def test_a_spread_is_at_least_that_of_as_many_trials_as_there_are_groups_with_links(right):
    """Links whose groups are all alike have no spread between draws, or one that few resamples show."""
    codes = np.repeat(np.arange(120), 2)
    mates = np.where(np.arange(120) < right, np.arange(1, 240, 2), np.roll(np.arange(1, 240, 2), 1))
    found = guarantee(codes, Links.of(240, np.arange(0, 240, 2), mates, np.full(120, 0.8))).at[-1]
    share = min(right / 120, 1 - 0.5 / 121)
    assert found.spread >= 1 / math.sqrt(120 * share * (1 - share)) - 1e-9


@pytest.mark.parametrize(("precision", "measured_on", "texts"), [(0.9, 101, 1001), (0.9, 1001, 101), (0.5, 11, 11)])
def test_a_precision_is_carried_over_by_its_odds(precision, measured_on, texts):
    odds = precision / (1 - precision) * (measured_on - 1) / (texts - 1)
    assert carried_over(precision, measured_on=measured_on, texts=texts) == pytest.approx(odds / (1 + odds))

"""Learning and measuring the matcher on files that are made: kinds are held out, and answers help."""

import numpy as np
import pytest

from twicetold_lab.matching import made, made_lines
from twicetold_lab.matching.learning import Labelled, group_of_texts, held_out, labelled, learn
from twicetold_lab.matching.measures import answered, best_threshold, blended, by_matcher
from twicetold_lab.matching.sources import LabelledFile, copied


def small(name: str, kind: str, rows: made.Rows, count: int = 300) -> Labelled:
    return labelled(LabelledFile(name, kind, rows[0][:count], rows[1][:count]), vectors=False)


@pytest.fixture(scope="module")
def files() -> list[Labelled]:
    return [
        small("names", "names", made.names(200)),
        small("tickets", "tickets", made.tickets(200)),
        small("variants", "variants", made.variants(60)),
        small("releases", "releases", made.releases(200)),
    ]


@pytest.mark.parametrize(
    "maker",
    [getattr(made, name) for name in ("names", "tickets", "variants", "releases")]
    + [
        getattr(made_lines, name)
        for name in ("logs", "parts", "addresses", "procedures", "posts", "scripts", "flights")
    ],
)
def test_made_files_are_the_same_each_time_and_have_groups_of_several(maker) -> None:  # type: ignore[no-untyped-def]
    texts, groups = maker()
    assert (texts, groups) == maker()
    assert len(texts) == len(groups) > len(set(groups)) > 100


def test_copies_differ_little_and_keep_their_numbers() -> None:
    file = LabelledFile("few", "few", [f"order {number} of a dozen red roses" for number in range(90)], ["x"] * 90)
    copies = copied(file)
    assert len(copies.texts) > 100
    for text, origin in zip(copies.texts, copies.truth, strict=True):
        assert [word.strip(",.!") for word in text.split() if word[0].isdigit()] == [origin.split()[1]]


def test_learning_does_not_depend_on_the_order_of_the_files(files: list[Labelled]) -> None:
    one, other = learn(files), learn(files[::-1])
    np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-5)


def test_each_kind_is_judged_by_a_matcher_of_the_others(files: list[Labelled]) -> None:
    matchers = held_out(files)
    assert matchers.keys() == {"names", "tickets", "variants", "releases"}
    assert all(len(matcher.kinds) == 3 for matcher in matchers.values())
    expected = learn([one for one in files if one.file.kind != "names"])
    np.testing.assert_array_equal(matchers["names"].coefficients, expected.coefficients)


def test_a_matcher_groups_better_than_the_best_threshold_and_answers_help(files: list[Labelled]) -> None:
    matchers = held_out(files)
    without = [by_matcher(one, matchers[one.file.kind]).f1 for one in files]
    threshold = [best_threshold(one, blended(one)).f1 for one in files]
    after = [answered(one, matchers[one.file.kind], [0, 30], seed=0) for one in files]
    assert np.mean(without) > np.mean(threshold)
    assert [scores[0].f1 for scores in after] == without
    assert np.mean([scores[30].f1 for scores in after]) > np.mean(without) + 0.02


def test_nothing_is_learnt_from_no_file() -> None:
    with pytest.raises(ValueError, match="no files"):
        learn([])


def test_copies_that_differ_in_their_group_have_that_of_most_of_them_in_any_order() -> None:
    text, truth = np.array([0, 0, 0, 1, 1, 2]), np.array(["c", "b", "b", "d", "a", "c"])
    for order in (np.arange(6), np.arange(6)[::-1]):
        groups = group_of_texts(text[order], truth[order].tolist())
        assert groups.tolist() == [1, 0, 2]

"""Warnings about groups, before rows are dropped."""

import numpy as np
import pytest

import twicetold
from twicetold.commands._dedupe_messages import of_summary
from twicetold.dedupe.caution import chains_in, codes_alone, codes_keep_apart, doubtful, many_grouped
from twicetold.dedupe.pairs import PairsByVectors
from twicetold.evaluation.decision import Decision
from twicetold.neighbours.grouping import Links

WORDS = "bank rate cut film drug trial phone star vote game chip tax law gas ship road".split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Order 4711 was shipped", "Order 4712 was shipped"),
        ("order 1234", "order 1243"),
        ("4711", "4712"),
        ("iPhone 12 case", "iPhone case"),
        ("bolt XK-A-200, steel", "bolt XL-B-300, steel"),
        ("Shirt in size M", "Shirt in size XL"),
        ("Flight from FRA to JFK", "Flight from FRA to LAX"),
        ("５ cups", "4 cups"),
        ("苹果15手机", "苹果16手机"),
        ("version 1.2", "version 1.3"),
    ],
)
def test_texts_that_differ_in_digits_or_codes_alone_are_told(one, other):
    said = codes_alone([one], [other], np.ones(1))
    assert said.startswith("all of the links join texts that differ only in digits or codes")
    assert repr(one) in said
    assert repr(other) in said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I learn to swim?", "how do I lern to swim"),
        ("HOW DO I", "how do i"),
        ("iPhone 6s", "iPhone 6 s"),
        ("1,000 EUR", "1000 EUR"),
        ("cook potatoes for 5 people", "cook potatoes 5 for people"),
        ("苹果15手机", "华为14电脑"),
        ("4 red cars", "5 blue cars"),
        ("A red car", "red car"),
        ("the CEO spoke", "the ceo spoke"),
    ],
)
def test_texts_that_differ_in_words_or_spelling_are_not_told(one, other):
    assert codes_alone([one], [other], np.ones(1)) is None


def test_the_share_of_such_links_is_given_with_the_most_similar_pair():
    left = ["lift 1 is out of order", "swim", "lift 5 is out of order", "boat"]
    right = ["lift 2 is out of order", "swims", "lift 6 is out of order", "boats"]
    said = codes_alone(left, right, np.array([0.7, 0.99, 0.9, 0.8]))
    assert said.startswith("50.0% of the links")
    assert "'lift 5 is out of order' and 'lift 6 is out of order'" in said
    assert codes_alone([], [], np.empty(0)) is None


def lines(times, number):
    """A log: eight messages, so many times each, with other times and process ids."""
    clock = [f"2024-07-{n % 28 + 1:02} {n % 24:02}:{n * 7 % 60:02}:16" for n in range(8 * times)]
    about = [f"{WORDS[n % 8]} to {WORDS[n % 8 + 8]} refused" for n in range(8 * times)]
    return [f"{at} ERROR app[{number + n * 37}]: {said}" for n, (at, said) in enumerate(zip(clock, about, strict=True))]


def test_lines_that_times_and_ids_keep_apart_are_told_with_what_to_do():
    texts = lines(4, 9000)
    found = twicetold.fit(texts, lexical=True).dedupe(texts)
    assert len(found.links) == 0
    (said,) = found.summary.warnings
    assert said.startswith("32 of 32 texts differ from another one only in digits or codes")
    assert "--ask 20" in said


@pytest.mark.parametrize(
    "texts",
    [
        [f"{one} {two} {one}{two}" for one in WORDS for two in WORDS[:4]],
        [f"{one} of {two} 20{n:02}" for n, (one, two) in enumerate(zip(WORDS, reversed(WORDS), strict=True))],
        [str(number) for number in range(4000, 4060)],
        lines(1, 9000),
    ],
    ids=["words", "years", "numbers", "log"],
)
def test_a_list_without_duplicates_brings_no_such_warning(texts):
    assert codes_keep_apart(texts, 0) is None


def test_links_between_lines_bring_no_such_warning():
    assert codes_keep_apart(lines(4, 9000), 2) is None


def test_most_rows_in_groups_are_told_and_half_of_them_are_not():
    assert many_grouped(50, 100, 40, equal=10) is None
    said = many_grouped(51, 100, 40, equal=10)
    assert said.startswith("51 of 100 rows (51%) are in groups, and 40 (40%) would be dropped.")
    assert said.endswith("Too many? Raise --threshold")
    assert many_grouped(51, 100, 40, equal=40).endswith("The texts of each group are equal")


def line(count):
    """Vectors of which each is near to the next one alone, and a few that are near to none."""
    angle = np.concatenate([np.arange(count) * 0.5, [20.0]])
    vectors = np.stack([np.cos(angle), np.sin(angle), np.zeros(count + 1)], axis=1)
    vectors[-1] = [0, 0, 1]
    return vectors


@pytest.mark.parametrize("rule", ["components", "complete"])
def test_a_chain_is_told_by_its_ends(rule, by_cosine):
    texts = [f"step {word}" for word in WORDS[:5]]
    found = by_cosine(texts, line(4)).dedupe(texts, threshold=0.8, rule=rule)
    chains = [said for said in found.summary.warnings if "chain" in said]
    if rule == "complete":
        assert found.table.density.tolist() == [1, 1]
        assert not chains
    else:
        assert found.group.tolist() == [0, 0, 0, 0, 1]
        (said,) = chains
        assert said.startswith("1 group is a chain: the ends are less alike than the threshold")
        assert "'step bank' and 'step film' (0.071)" in said


def test_a_group_whose_pairs_all_reach_the_threshold_is_no_chain_also_where_some_are_no_links():
    vectors = np.ones((4, 1))
    pairs = PairsByVectors((vectors, vectors), Decision(0.5, 1.0, 0.0), 0.0)
    links = Links.of(4, [0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0])  # a text had more links than are kept
    assert chains_in(np.zeros(4, np.int64), links, pairs, least=0.5) is None


def test_what_is_found_is_in_the_summary_and_told_on_the_way(by_similarity):
    texts = [f"Your order {n} of {WORDS[n % 3]} was shipped" for n in range(30)] + ["a tent", "learn to swim"]
    told = []
    found = by_similarity(texts, 0.5).dedupe(texts, progress=told.append)
    many, codes = found.summary.warnings[:2]
    assert many.startswith("30 of 32 rows (94%) are in groups")
    assert "differ only in digits or codes" in codes
    assert [line for line in told if line.startswith("warning: ")] == [f"warning: {each}" for each in (many, codes)]


def test_few_misspelt_copies_bring_no_warning():
    texts = [f"{one} {two} {one}{two}" for one in WORDS for two in WORDS[:4]]
    copies = [f"{texts[3]}s", texts[17].upper()]
    found = twicetold.fit([*texts, *copies], lexical=True).dedupe([*texts, *copies], threshold=0.65)
    assert found.summary.counts.groups == 2
    assert found.summary.warnings == ()


def test_as_many_doubts_as_links_are_told_unless_a_person_has_answered():
    assert doubtful(np.repeat([0.1, 0.2, 0.8, 0.9], [50, 15, 15, 30]), 30).startswith("30 pairs may be the same or not")
    assert doubtful(np.repeat([0.1, 0.2, 0.8, 0.9], [50, 15, 15, 31]), 31) is None
    assert doubtful(np.full(19, 0.5), 0) is None
    texts = [f"{one} {two} {one}{two}" for one in WORDS for two in WORDS[:4]]
    fitted, answers = twicetold.fit(texts, lexical=True), ([0], [16], [None])
    warned = [
        any("may be the same or not" in warning for warning in fitted.dedupe(texts, **options).summary.warnings)
        for options in ({}, {"pairs": answers}, {"pairs": ([0], [16], [False])}, {"threshold": 0.6})
    ]
    assert warned == [True, True, False, False]


def test_what_rests_on_no_label_is_named():
    texts = [f"{WORDS[n % 16]}{n} {WORDS[n * 7 % 16]}{n * 3}" for n in range(60)]
    told = []
    threshold = twicetold.fit(texts, lexical=True).dedupe(texts, progress=told.append).summary.threshold
    assert (threshold.probability, threshold.chosen_for, threshold.calibrated) == (0.5, "matcher", False)
    assert f"Using {threshold.evidence}" in told
    assert threshold.evidence == "the generic matcher (not calibrated on this file)"
    for answer, said in ((True, "moved by your answers"), (None, "not calibrated on this file)")):
        answered = twicetold.fit(texts, lexical=True).dedupe(texts, pairs=([0], [16], [answer])).summary.threshold
        assert answered.evidence.endswith(said)


def test_words_that_are_not_compared_by_spelling_are_counted_in_a_warning():
    texts = [f"custom{chr(0xAC00 + number)}er of shop {number}" for number in range(120)]
    (said,) = [each for each in warnings_of_dedupe(texts) if "by spelling" in each]
    assert said.startswith("120 words were not compared with all others by spelling")
    assert not [each for each in warnings_of_dedupe(texts[:100]) if "by spelling" in each]


@pytest.mark.parametrize("options", [{}, {"same": [["a", "b"] * 120]}])
def test_texts_that_were_not_compared_with_all_others_are_counted_in_the_summary(options, monkeypatch):
    texts = [f"{one} {two} {three} shirt" for one in WORDS[:6] for two in WORDS[:8] for three in WORDS[:5]]
    model = twicetold.fit(texts, lexical=True)
    assert model.dedupe(texts, **options).summary.counts.unfinished == 0
    monkeypatch.setattr("twicetold.matching.candidates.MOST", 20)
    monkeypatch.setattr("twicetold.dedupe.blocking.LARGE", 50)
    summary = model.dedupe(texts, **options).summary
    assert 0 < summary.counts.unfinished <= len(texts)
    said = [each for each in of_summary(summary, dropped=0) if "not compared with all others" in each]
    assert said[0].startswith(f"warning: {summary.counts.unfinished} texts were")


def warnings_of_dedupe(texts):
    return twicetold.fit(texts, lexical=True).dedupe(texts).summary.warnings

"""Groups of texts that nobody has labelled, by the generic matcher."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

import twicetold
from twicetold.dedupe import blocking
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.evaluation.group_metrics import group_scores
from twicetold.matching.comparison import Comparison

QUESTIONS = Path(__file__).parents[3] / "examples/questions.csv"


@pytest.fixture(scope="module")
def asked():
    with QUESTIONS.open() as file:
        return [row["question"] for row in csv.DictReader(file)]


def parts(group, texts):
    """The groups as sets of texts."""
    return {frozenset(text for text, each in zip(texts, group, strict=True) if each == one) for one in set(group)}


def linked(found, texts):
    """The links as sets of texts in small letters, as of equal ones another may stand for them."""
    ends = zip(found.links.left.tolist(), found.links.right.tolist(), strict=True)
    return {frozenset((texts[left].lower(), texts[right].lower())) for left, right in ends}


def test_groups_are_those_of_the_matcher(asked):
    found = twicetold.fit(asked, lexical=True).dedupe(asked)
    distinct = DistinctTexts.of(asked)
    compared = Comparison.of(distinct.texts)
    expected = compared.in_valley().groups()[distinct.place]
    assert parts(found.group.tolist(), asked) == parts(expected.tolist(), asked)


@pytest.mark.parametrize("sense", ["copies", "same", "topic"])
def test_links_are_the_same_in_whatever_order_the_rows_are(sense, asked):
    found = twicetold.fit(asked, lexical=True).dedupe(asked, sense=sense)
    turned = asked[::-1]
    again = twicetold.fit(turned, lexical=True).dedupe(turned, sense=sense)
    assert linked(again, turned) == linked(found, asked)


STORIES = [
    "storm {} hits the coast of {}",
    "coast of {1} braces as storm {0} nears",
    "{1}: thousands flee storm {0}",
    "storm {} kills dozens in {}",
]
NAMES = "alma bruno carla dario edda fabio gilda hugo irma karl livia mario nadia otto petra rocco sara tomas".split()
PLACES = "aden bari cork dover essen faro genoa hull izmir jena kiel lima malmo nice oslo pisa riga split".split()


def headlines():
    """Four headlines of each of 18 stories, and some of them again with a change."""
    texts = [form.format(*story) for story in zip(NAMES, PLACES, strict=True) for form in STORIES]
    return [*texts, *(text.replace("o", "oo", 1) for text in texts[::3])]


def products():
    with (QUESTIONS.parent / "products.csv").open() as file:
        return [row["title"] for row in csv.DictReader(file)]


def orders():
    return [f"order {number % 97} of {number % 7 + 1} boxes, room {number % 5}" for number in range(150)]


@pytest.mark.parametrize("lexical", [True, False])
@pytest.mark.parametrize("limit", [None, 3], ids=["", "limits"])
@pytest.mark.parametrize("name", ["asked", "headlines", "products", "orders"])
def test_copies_are_the_same_and_what_is_the_same_is_of_one_topic(name, limit, lexical, asked):
    texts = asked if name == "asked" else {"headlines": headlines, "products": products, "orders": orders}[name]()
    options = {} if limit is None else {"same": [[number % limit for number in range(len(texts))]]}
    model = twicetold.fit(texts, lexical=lexical)
    group = [model.dedupe(texts, sense=sense, **options).group for sense in ("copies", "same", "topic")]
    for inner, outer in itertools.pairwise(group):
        joined = inner[:, None] == inner
        assert (outer[:, None] == outer)[joined].all()
    sizes = [int((each[:, None] == each).sum()) for each in group]
    assert sizes == sorted(sizes)
    if name != "orders":
        assert sizes[0] < sizes[2]


def test_headlines_of_a_story_are_one_topic():
    texts = headlines()
    found = twicetold.fit(texts, lexical=True).dedupe(texts, sense="topic")
    story = [*np.repeat(range(18), 4), *np.repeat(range(18), 4)[::3]]
    assert group_scores(found.group.tolist(), list(map(str, story))).b3 > 0.95
    assert (found.links.probability >= 0.5).all()
    assert found.why is None  # no matcher made these links


def test_texts_that_show_no_threshold_for_topics_are_warned_of(asked):
    few = headlines()[:40]
    said = []
    for texts, threshold in ((few, None), (few, 0.1), (asked, None)):
        found = twicetold.fit(texts, lexical=True).dedupe(texts, sense="topic", threshold=threshold)
        said.append(["show no threshold for topics" in each for each in found.summary.warnings].count(True))
    assert said == [1, 0, 0]


def test_another_sense_is_refused(asked):
    with pytest.raises(ValueError, match="one of the senses"):
        twicetold.fit(asked, lexical=True).dedupe(asked, sense="alike")


def test_a_sense_is_refused_where_labels_say_what_the_same_is(run, asked):
    with pytest.raises(ValueError, match="needs the generic matcher"):
        twicetold.load(run("tfidf")).dedupe(asked, sense="topic")


@pytest.mark.parametrize("large", [4096, 3], ids=["pieces", "blocks"])
def test_links_are_within_limits(large, asked, monkeypatch):
    monkeypatch.setattr(blocking, "LARGE", large)
    half = [number % 2 for number in range(len(asked))]
    model = twicetold.fit(asked, lexical=True)
    links = model.dedupe(asked, same=[half]).links
    assert len(links)
    assert all(half[left] == half[right] for left, right in zip(links.left, links.right, strict=True))
    near = model.dedupe(asked, within=[(np.arange(len(asked)), 60)]).links
    assert len(near)
    assert np.abs(near.left - near.right).max() <= 60


def test_answers_move_the_matcher_and_hold(asked):
    model = twicetold.fit(asked, lexical=True)
    plain, near = model.dedupe(asked), model.dedupe(asked, threshold=0.2).links
    some = np.argsort(np.abs(near.probability - 0.5))[:9]
    pairs = (near.left[some], near.right[some], np.ones(9, bool))
    after = model.dedupe(asked, pairs=pairs)
    assert (after.group[pairs[0]] == after.group[pairs[1]]).all()
    assert len(after.links) > len(plain.links) + 9 - (near.probability[some] >= 0.5).sum()
    far = ([0], [5], [True])  # no candidate
    assert model.dedupe(asked, pairs=far).group[[0, 5]].tolist() == [0, 0]


def test_after_answers_links_are_cut_where_their_expected_f1_is_highest_unless_a_person_says_where(asked):
    model = twicetold.fit(asked, lexical=True)
    near = model.dedupe(asked, threshold=0.2).links
    some = np.argsort(np.abs(near.probability - 0.5), kind="stable")[:12]
    pairs = [near.left[some], near.right[some], near.probability[some] > 0.5]
    unsure = np.array([True] + [None] * 11, object)
    for answers in (tuple(pairs), tuple(side[:1] for side in pairs), (*pairs[:2], unsure)):
        assert 0.3 <= model.dedupe(asked, pairs=answers).summary.threshold.probability < 0.5
    assert model.dedupe(asked, pairs=tuple(pairs), threshold=0.6).summary.threshold.probability == pytest.approx(0.6)
    none = (*pairs[:2], np.full(12, None, object))
    assert model.dedupe(asked, pairs=none).summary.threshold.probability == 0.5


def test_what_agrees_and_what_contradicts_is_told_of_each_link():
    texts = [
        "Onkyo TX-SR706 receiver, 500 W",
        "onkyo receiver TXSR706 800 W",
        "a tent for 2 persons",
        "a tent, 2 persons",
    ]
    brands = ["Onkyo", "Onkyo", "Sol", "Luna"]
    found = twicetold.fit(texts, lexical=True).dedupe(texts, also=[brands], threshold=0.01)
    ends = zip(found.links.left.tolist(), found.links.right.tolist(), strict=True)
    told = dict(zip(ends, found.why(np.arange(len(found.links))), strict=True))
    assert told[0, 1] == ("3 of 8 words in both; same code: txsr706; numbers differ: 500 and 800; 1 of 1 column equal")
    assert told[2, 3] == "4 of 5 words in both; same number: 2; 1 of 1 column contradicting"


def test_links_that_rest_on_other_things_have_another_why(asked):
    found = twicetold.fit(asked, lexical=True).dedupe(asked)
    assert len(set(found.why(np.arange(len(found.links))))) > 30


BOOKS = ["guest editorial", "Guest  Editorial", "guest editorial", "the joins of large tables", "joins of large tables"]
YEARS, VENUES = ["1999", "1999", "2001", "2004", None], ["TODS", "tods", "SIGMOD", "VLDB", "VLDB"]


def books(order=range(5)):
    """Groups of the books as sets of rows, by title, year and venue."""
    texts, years, venues = ([column[row] for row in order] for column in (BOOKS, YEARS, VENUES))
    found = twicetold.fit(texts, lexical=True).dedupe(texts, also=[years, venues])
    return {frozenset(order[row] for row in np.flatnonzero(found.group == one)) for one in set(found.group)}, found


def test_equal_texts_are_one_only_if_further_columns_are_equal_in_whatever_order_the_rows_are():
    groups, found = books()
    assert found.exact.tolist() == [0, 0, 2, 3, 4]
    assert all({0, 1} <= group or not {0, 1} & group for group in groups)
    assert books([4, 2, 0, 3, 1])[0] == groups


def test_further_columns_count_and_answers_about_them_hold():
    texts = [f"a tent for {number // 2 + 2} persons" for number in range(40)]
    unlike = [f"maker {number}" for number in range(40)]
    alike = [f"maker {number // 2}" for number in range(40)]
    links = {}
    for name, brand in (("unlike", unlike), ("alike", alike)):
        model = twicetold.fit(texts, lexical=True)
        links[name] = model.dedupe(texts, also=[brand])
    assert set(links["alike"].exact) == set(range(0, 40, 2))
    assert set(links["unlike"].exact) == set(range(40))
    asked = twicetold.fit(texts, lexical=True).questions(texts, also=[unlike])
    for _ in range(10):
        for question in asked.next():
            asked.answer(question, question.left_text == question.right_text)
    after = twicetold.fit(texts, lexical=True).dedupe(texts, also=[unlike], pairs=asked.pairs)
    assert all((after.group[a] == after.group[b]) == same for a, b, same in zip(*asked.pairs, strict=True))
    assert (after.group[0::2] == after.group[1::2]).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"also": "aaaaa"}, TypeError, "also: expected a list, such as [column], got str"),
        ({"also": [["a"] * 4]}, ValueError, "also[0]: expected a value for each of 5 texts, got 4"),
        ({"also": [[[1]] * 5]}, TypeError, "expected texts, numbers or dates, got list"),
        ({"also": [["a"] * 5], "sense": "topic"}, ValueError, "for the sense 'same' alone, got 'topic'"),
    ],
)
def test_further_columns_that_cannot_be_used_are_named(options, error, message):
    with pytest.raises(error) as raised:
        twicetold.fit(BOOKS, lexical=True).dedupe(BOOKS, **options)
    assert message in str(raised.value)


def test_further_columns_are_refused_where_texts_have_a_score_of_their_own(run, asked):
    with pytest.raises(TypeError, match="leave MODEL out"):
        twicetold.load(run("tfidf")).dedupe(asked, also=[["a"] * len(asked)])

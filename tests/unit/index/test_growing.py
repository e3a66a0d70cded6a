"""An index that grows beside one that is built at once."""

import random
from itertools import permutations

import numpy as np
import pytest

import twicetold
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.group_metrics import group_scores
from twicetold.index import groups, open_index, search
from twicetold.index.folder import FORMAT
from twicetold.index.groups import GroupChanges, Grouping
from twicetold.index.info import grouped_texts, index_info
from twicetold.neighbours.rules import RULES
from twicetold.trained.ensemble import Ensemble
from twicetold.use.model import Model

WORDS = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in "prst"]


def stories(seed, count=30, texts=6):
    """Texts of so many stories: five of the story's seven words, and one that any text may have; and the stories."""
    chance = random.Random(seed)
    words = [chance.sample(WORDS, 7) for _ in range(count)]
    made = [
        (" ".join([*chance.sample(words[s], 5), chance.choice(WORDS)]), s) for s in range(count) for _ in range(texts)
    ]
    chance.shuffle(made)
    return [text for text, _ in made], [story for _, story in made]


def cut(texts, places):
    return [texts[start:end] for start, end in zip([0, *places], [*places, len(texts)])]


def grown(model, texts, places, rule):
    first, *others = cut(texts, places)
    index = model.index(first, threshold=0.5, rule=rule)
    for some in others:
        index.add(some)
    return index


def agreement(one, other):
    return group_scores(one.groups, other.groups).ari


def by_similarity(texts):
    """A lexical model that is not without labels; its probabilities are nearly its similarities."""
    model = twicetold.fit(texts, lexical=True)
    decision = Decision(0.5, 4.0, -2.0)
    return Model(Ensemble(model.trained.members, decision, True, model.trained.weights), model.folder)


@pytest.fixture(scope="module")
def lexical():
    return by_similarity(stories(0)[0])


@pytest.mark.parametrize("seed", range(4))
def test_by_components_texts_in_any_cut_are_grouped_as_by_one_build(seed, lexical, monkeypatch):
    monkeypatch.setattr(groups, "AT_ONCE", 16)
    monkeypatch.setattr(search, "CHUNK", 7)
    texts, _ = stories(seed)
    places = sorted(random.Random(seed).sample(range(1, len(texts)), 4))
    whole = lexical.index(texts, threshold=0.5, rule="components")
    index = grown(lexical, texts, places, "components")
    assert agreement(index, whole) == 1.0
    assert index.parts < 4, "small parts are merged"
    assert 1 < len(set(whole.groups.tolist())) < len(texts)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_of_equal_texts_the_first_has_links_also_by_a_model_that_heeds_case(order, rule):
    texts = ["Bank rate", "bank  rate", "BANK RATE", "film star"]
    vectors = np.array([[1, 0, 0], [0.1, 1, 0], [0.2, 1, 0], [0, 1, 0]])
    chosen = [texts[row] for row in order]
    model = twicetold.fit(chosen, vectors=vectors[list(order)])
    whole = model.index(chosen, threshold=0.5, rule=rule)
    for cut in (1, 2, 3):
        index = model.index(chosen[:cut], threshold=0.5, rule=rule)
        index.add(chosen[cut:])
        one, other = (np.equal.outer(each.groups, each.groups) for each in (index, whole))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rule", ["average", "complete"])
def test_by_linkage_ten_increments_are_grouped_nearly_as_by_one_build(rule, lexical):
    texts, codes = stories(1)
    whole = lexical.index(texts, threshold=0.5, rule=rule)
    index = grown(lexical, texts, range(18, len(texts), 18), rule)
    assert group_scores(whole.groups, codes).ari > 0.6
    assert agreement(index, whole) > 0.95


@pytest.mark.parametrize("rule", RULES)
def test_groups_that_are_like_no_other_are_the_same_in_any_cut(rule, lexical):
    """All texts of a story have a word more in common than a threshold asks for, and none with another story."""
    texts = [f"{a} {b} {c} {c}{n}" for a, b, c in zip(WORDS[:20], WORDS[20:40], WORDS[40:60]) for n in range(3)]
    random.Random(0).shuffle(texts)
    whole = lexical.index(texts, threshold=0.3, rule=rule)
    index = lexical.index(texts[:20], threshold=0.3, rule=rule)
    for some in (texts[20:21], texts[21:50], texts[50:]):
        index.add(some)
    assert agreement(index, whole) == 1.0


@pytest.fixture(scope="module")
def small():
    return by_similarity(["bar bas", "bep ber", "mit mos", "bar bas bep ber"])


def test_a_text_that_is_equal_but_for_case_and_space_joins_whatever_the_model_knows(small):
    index = small.index(["Zyx  wvu", "bar bas"], threshold=0.9)
    assert index.add(["zyx wvu", "qqq", "QQQ"]).groups.tolist() == [0, 2, 2]


def test_a_blank_text_is_refused_as_by_a_build(small):
    index = small.index(["bar bas"], threshold=0.5)
    with pytest.raises(ValueError, match=r"1 of 2 texts are empty, the first is texts\[1\]"):
        index.add(["mit", " \t"])
    assert len(index) == 1


@pytest.mark.parametrize("rule", RULES)
def test_finished_groups_form_themselves_again_when_they_are_grouped_alone(rule, lexical, run):
    for model, threshold in ((lexical, 0.5), (twicetold.load(run("static")), 0.6)):
        index = model.index(stories(2)[0], threshold=threshold, rule=rule)
        rows = np.arange(len(index))
        again = Grouping(model, index._manifest, index._constant).group(index._segments, rows)
        assert group_scores(again, index.groups).ari == 1.0


def test_merges_by_the_rule_are_told(small):
    index = small.index(["bar bas", "bep ber", "mit mos"], ["a", "b", "c"], threshold=0.5, rule="components")
    added = index.add(["bar bas bep ber"], ["d"])
    assert added.changes == GroupChanges(merged=((1, 0),), moved=1)
    assert index.groups.tolist() == [0, 0, 2, 0]


def test_numbers_stay_when_texts_are_removed(lexical):
    index = lexical.index(stories(4)[0], threshold=0.5)
    before = dict(zip(index.ids, index.groups.tolist()))
    index.remove(index.ids[::7])
    assert dict(zip(index.ids, index.groups.tolist())).items() <= before.items()


def test_the_rule_and_the_groups_are_in_the_folder(tmp_path, run):
    model = twicetold.load(run("tfidf"))
    index = model.index(["bank", "film", "drug trial", "BANK"], list("abcd"), threshold=0.9, rule="complete")
    index.save(tmp_path / "index")
    about = index_info(tmp_path / "index")
    assert (about.rule, about.neighbours, about.format) == ("complete", 20, FORMAT)
    again = open_index(tmp_path / "index", model)
    assert grouped_texts(tmp_path / "index").to_pylist() == again.table().to_pylist()
    assert (again.rule, again.groups.tolist()) == ("complete", [0, 1, 2, 0])

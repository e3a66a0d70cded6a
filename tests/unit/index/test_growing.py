"""An index that grows beside one that is built at once, and what a person decides about its groups."""

import json
import random
from itertools import permutations

import numpy as np
import pytest

import twicetold
from twicetold.evaluation.group_metrics import group_scores
from twicetold.index import neighbourhood, open_index
from twicetold.index.folder import FIRST_FORMAT, FORMAT, MANIFEST
from twicetold.index.info import Merge, grouped_texts, index_info
from twicetold.index.memberships import GroupChanges
from twicetold.neighbours.rules import RULES

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


def grown(model, texts, places, rule, **options):
    first, *others = cut(texts, places)
    index = model.index(first, threshold=0.5, rule=rule)
    for some in others:
        index.add(some, **options)
    return index


def agreement(one, other):
    return group_scores(one.groups, other.groups).ari


@pytest.fixture(scope="module")
def lexical():
    return twicetold.fit(stories(0)[0], lexical=True)


@pytest.mark.parametrize("seed", range(4))
def test_by_components_texts_in_any_cut_are_grouped_as_by_one_build(seed, lexical, monkeypatch):
    monkeypatch.setattr(neighbourhood, "AT_ONCE", 16)
    texts, _ = stories(seed)
    places = sorted(random.Random(seed).sample(range(1, len(texts)), 4))
    whole = lexical.index(texts, threshold=0.5, rule="components")
    index = grown(lexical, texts, places, "components")
    assert agreement(index, whole) == 1.0
    assert 1 < len(set(whole.groups.tolist())) < len(texts)
    assert index.regroup() == GroupChanges()


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
    index.regroup()
    assert group_scores(index.groups, whole.groups).ari > 0.99


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


@pytest.mark.parametrize("rule", RULES)
def test_to_group_anew_what_was_built_changes_nothing(rule, lexical, run):
    for model, threshold in ((lexical, 0.5), (twicetold.load(run("static")), 0.6)):
        index = model.index(stories(2)[0], threshold=threshold, rule=rule)
        before = index.groups.tolist()
        assert index.regroup() == GroupChanges()
        assert index.groups.tolist() == before


def test_another_rule_is_that_of_the_index_then(lexical, tmp_path):
    texts, _ = stories(3)
    index = lexical.index(texts, threshold=0.45, rule="components")
    before = dict(zip(index.ids, index.groups.tolist()))
    changes = index.regroup("complete")
    expected = lexical.index(texts, threshold=0.45, rule="complete")
    assert agreement(index, expected) == 1.0
    assert index.rule == "complete"
    assert changes.split
    after = dict(zip(index.ids, index.groups.tolist()))
    for group, parts in changes.split:
        assert {after[name] for name in before if before[name] == group} == set(parts)
        assert group in parts, "the largest part keeps the number"
    with pytest.raises(ValueError, match="expected one of the rules"):
        index.regroup("single")
    with pytest.raises(ValueError, match="built without groups"):
        lexical.index(texts, groups=False).regroup()


def bridged(model, **options):
    """Two groups that a new text connects."""
    index = model.index(["bar bas", "bep ber", "mit mos"], ["a", "b", "c"], threshold=0.5, rule="components")
    return index, index.add(["bar bas bep ber"], ["d"], **options)


@pytest.fixture(scope="module")
def small():
    return twicetold.fit(["bar bas", "bep ber", "mit mos", "bar bas bep ber"], lexical=True)


def test_merges_are_made_and_told_and_can_be_undone_for_good(small):
    index, added = bridged(small)
    assert added.changes == GroupChanges(merged=((1, 0),), moved=1)
    assert index.groups.tolist() == [0, 0, 2, 0]
    assert index.unmerge(1) == 0
    assert index.groups.tolist() == [0, 1, 2, 0]
    assert index.apart == [(0, 1)]
    assert index.regroup() == GroupChanges()
    index.add(["bas bar ber bep"], ["e"])
    assert index.groups.tolist() == [0, 1, 2, 0, 0]
    assert index.merge(1, 0) == 0
    assert index.apart == []
    assert index.groups.tolist() == [0, 0, 2, 0, 0]


def test_proposals_move_no_text_until_they_are_accepted(small):
    index, added = bridged(small, merges="propose")
    assert added.changes == GroupChanges()
    assert index.groups.tolist()[:3] == [0, 1, 2]
    assert [each.groups for each in added.proposals] == [(0, 1)]
    assert index.proposals == added.proposals
    index.add(["bep ber bar bas"], ["e"], merges="make")
    assert index.proposals == [], "the rule has made the merge meanwhile"
    assert index.groups.tolist() == [0, 0, 2, 0, 0]
    with pytest.raises(ValueError, match=r"expected one of .*'make', 'propose'.*, got 'never'"):
        index.add(["x"], merges="never")


@pytest.mark.parametrize("rule", ["components", "average"])
def test_groups_stay_apart_also_under_the_number_of_one_that_they_join_meanwhile(rule, small, monkeypatch):
    monkeypatch.setattr(neighbourhood, "AT_ONCE", 1)
    index = small.index(["bar bas", "bep ber", "mit mos"], threshold=0.4, rule=rule)
    index.ignore(1, 2)
    index.add(["bar bas bep ber", "bar bas bep ber mit mos"])
    assert index.groups.tolist()[:3] == [0, 0, 2]
    assert index.apart == [(0, 2)]


@pytest.mark.parametrize("rule", RULES)
def test_what_a_person_has_merged_stays_together(rule, small):
    index = small.index(["bar bas", "bep ber", "mit mos"], threshold=0.5, rule=rule)
    index.merge(0, 2)
    index.add(["mit mos bar", "bar bas mit"])
    assert index.regroup() == GroupChanges()
    assert index.groups.tolist()[:3] == [0, 1, 0]
    assert index.unmerge(2) == 0
    assert index.groups.tolist()[:3] == [0, 1, 2]


def test_texts_that_left_the_group_of_a_merge_are_not_bound_to_a_later_merge_of_it():
    texts = ["bar bas", "bep ber", "mit mos", "bas gop gip", "gop gip", "gip gop"]
    index = twicetold.fit(texts, lexical=True).index(texts[:3], threshold=0.3, rule="components")
    index.merge(0, 1)
    index.add(texts[3:])
    assert index.groups.tolist() == [0, 0, 2, 0, 0, 0]
    index.regroup("complete")
    assert index.groups.tolist() == [3, 3, 2, 0, 0, 0]
    index.merge(0, 2)
    assert index.regroup() == GroupChanges()
    assert index.groups.tolist() == [3, 3, 0, 0, 0, 0]


def test_a_text_that_is_equal_but_for_case_and_space_joins_whatever_the_model_knows(small):
    index = small.index(["Zyx  wvu", "bar bas"], threshold=0.9)
    assert index.add(["zyx wvu", "qqq", "QQQ"]).groups.tolist() == [0, 2, 2]


def test_a_blank_text_is_refused_as_by_a_build(small):
    index = small.index(["bar bas"], threshold=0.5)
    with pytest.raises(ValueError, match=r"1 of 2 texts are empty, the first is texts\[1\]"):
        index.add(["mit", " \t"])
    assert len(index) == 1


def test_numbers_stay_when_texts_are_removed_and_all_is_grouped_anew(lexical):
    texts, _ = stories(4)
    index = lexical.index(texts, threshold=0.5)
    before = dict(zip(index.ids, index.groups.tolist()))
    index.remove(index.ids[::7])
    assert dict(zip(index.ids, index.groups.tolist())).items() <= before.items()
    changes = index.regroup()
    after = dict(zip(index.ids, index.groups.tolist()))
    changed = {group for group, _ in (*changes.merged, *changes.split)}
    assert all(after[name] == before[name] for name in after if before[name] not in changed)
    assert len(changed) < len(set(before.values())) / 4


def test_what_was_decided_is_in_the_folder(small, tmp_path, run):
    model = twicetold.load(run("tfidf"))
    index = model.index(["bank", "film", "drug trial", "vote"], list("abcd"), threshold=0.9, rule="complete")
    index.merge(0, 1)
    index.ignore(0, 2)
    index.save(tmp_path / "index")
    about = index_info(tmp_path / "index")
    assert (about.rule, about.rule_is_known, about.neighbours, about.format) == ("complete", True, 20, FORMAT)
    assert about.merges == [Merge(group=1, into=0, texts=1, tied=True)]
    assert about.apart == [(0, 2)]
    assert grouped_texts(tmp_path / "index").to_pylist() == index.table().to_pylist()
    assert index.table()["id"].to_pylist() == list("abcd")
    again = open_index(tmp_path / "index", model)
    assert again.rule == "complete"
    assert again.groups.tolist() == [0, 0, 2, 3]
    assert again.unmerge(1) == 0
    again.save()
    assert open_index(tmp_path / "index", model).groups.tolist() == [0, 1, 2, 3]
    assert not list((tmp_path / "index").rglob("groups-*.npy")), "groups are those of the table again"


def test_an_index_of_the_first_format_opens_and_says_that_it_has_no_rule(run, tmp_path):
    model = twicetold.load(run("tfidf"))
    index = model.index(["bank", "film", "drug trial", "vote"], list("abcd"), threshold=0.9)
    index.save(tmp_path / "index")
    content = json.loads((tmp_path / "index" / MANIFEST).read_text())
    del content["rule"], content["neighbours"]
    for part in content["parts"]:
        del part["groups"]
    content.update(format=FIRST_FORMAT, merged=[[1, 0]], ignored=[[0, 3]])
    (tmp_path / "index" / MANIFEST).write_text(json.dumps(content))
    about = index_info(tmp_path / "index")
    assert (about.rule, about.rule_is_known, about.format) == ("average", False, FIRST_FORMAT)
    opened = open_index(tmp_path / "index", model)
    assert opened.groups.tolist() == [0, 0, 2, 3]
    assert opened.apart == [(0, 3)]
    opened.add(["bank film"], ["e"])
    opened.save()
    assert index_info(tmp_path / "index").format == FORMAT
    opened = open_index(tmp_path / "index", model)
    assert opened.groups.tolist()[:4] == [0, 0, 2, 3]
    assert opened.unmerge(1) == 0
    assert opened.groups.tolist()[:4] == [0, 1, 2, 3]
    opened.regroup("complete")
    opened.save()
    assert index_info(tmp_path / "index").rule_is_known

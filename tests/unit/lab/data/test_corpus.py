from dataclasses import replace

import numpy as np
import pytest

from twicetold_lab.data import corpus as module
from twicetold_lab.data.corpus import Corpus, Pairs


def same(one: Corpus, other: Corpus) -> bool:
    return (
        one.texts.equals(other.texts)
        and one.ids.equals(other.ids)
        and all(np.array_equal(one.groups[g], other.groups[g]) for g in one.groups)
        and all(np.array_equal(one.members[s], other.members[s]) for s in one.members)
        and all(np.array_equal(vars(one.pairs[s])[c], v) for s in one.pairs for c, v in vars(other.pairs[s]).items())
    )


@pytest.mark.parametrize("kind", ["news", "questions"])
def test_a_saved_corpus_loads_as_it_was(kind, tmp_path, request):
    corpus = request.getfixturevalue(kind)
    corpus.save(tmp_path / "c")
    assert same(corpus, Corpus.load(tmp_path / "c"))


def test_a_corpus_that_is_replaced_while_it_is_read_is_never_read_in_parts(news, tmp_path, monkeypatch):
    news.save(tmp_path / "c")
    read = module.pq.read_table
    monkeypatch.setattr(module.pq, "read_table", lambda *file, **how: news.save(tmp_path / "c") or read(*file, **how))
    with pytest.raises(OSError, match="was replaced by another command while it was read"):
        Corpus.load(tmp_path / "c")


def test_a_missing_corpus_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="dvc repro prepare@quora"):
        Corpus.load(tmp_path / "quora")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "poems"}, "kind must be one of"),
        ({"groups": {}}, "at least one group"),
        ({"groups": {"story": np.zeros(3, np.int64)}}, "story has 3 rows"),
        ({"members": {"train": np.arange(60)}}, "must have the splits"),
        ({"members": {"train": np.arange(2), "val": np.arange(2), "test": np.array([], int)}}, "'test' is empty"),
        ({"members": {"train": np.array([1, 0]), "val": np.arange(2), "test": np.arange(2)}}, "sorted and unique"),
        ({"members": {"train": np.array([99]), "val": np.arange(2), "test": np.arange(2)}}, "outside the 60 texts"),
        ({"pairs": {"train": Pairs(*[np.arange(1)] * 3)}}, "documents carry no pairs"),
    ],
)
def test_parts_that_do_not_fit_are_refused(news, change, message):
    with pytest.raises(ValueError, match=message):
        replace(news, **change)


def test_pairs_stay_within_the_members_of_their_split(questions):
    pairs = {**questions.pairs, "test": questions.pairs["train"]}
    with pytest.raises(ValueError, match="not its members"):
        replace(questions, pairs=pairs)


def test_a_group_that_is_not_there_is_answered_with_the_setting_for_those_that_are(news):
    assert news.group("story") is news.groups["story"]
    with pytest.raises(ValueError, match=r"has no group 'topic'.* set data.label=category or data.label=story "):
        news.group("topic")
    stories = replace(news, groups={"story": news.groups["story"]})
    with pytest.raises(ValueError, match=r"corpus 'news' has no group 'category'; it has \['story'\]: set data.label="):
        stories.group("category")

"""A matcher on labelled pairs with splits: what it reads, what it leaves out, and that it learns."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from twicetold.matching.matcher import Matcher
from twicetold_lab.data.corpus import SPLITS
from twicetold_lab.data.sources import numbered, pair_corpus
from twicetold_lab.matching.published import (
    GROUPS,
    PairClassifier,
    codes_rule,
    measure,
    published_pairs,
    regression,
    without_groups,
)
from twicetold_lab.matching.trees import grown


def products(count=240, seed=0):
    """Pairs of products: the same code in another spelling, or the code of a neighbour."""
    draw = np.random.default_rng(seed)
    words = ["camera", "tripod", "lens", "flash", "case", "strap", "charger", "battery"]
    left, right, label = [], [], []
    for number in range(count):
        words_here = draw.choice(words, 3).tolist()
        same = bool(draw.random() < 0.4)
        code, other = f"TX-{1000 + number}", f"TX {1000 + number + (0 if same else 1 + draw.integers(7))}"
        left.append(" ".join(["sony", code, *words_here]))
        right.append(" ".join(["Sony", *draw.permutation(words_here).tolist(), other]))
        label.append(same)
    texts, (one, two) = numbered(pa.array(left), pa.array(right))
    corpus = pair_corpus(
        name="products",
        kind="labelled_pairs",
        texts=texts,
        left=one,
        right=two,
        label=np.array(label, np.float32),
        side=np.repeat(np.arange(3, dtype=np.int8), [count * 3 // 5, count // 5, count // 5]),
        positive=1,
        seed=0,
        limit=None,
        card={"split": "official"},
    )
    names = [text.partition(" ")[0] for text in corpus.texts.to_pylist()]
    return replace(corpus, fields={"brand": pa.array(names), "title": corpus.texts})


@pytest.fixture(scope="module")
def corpus():
    return products()


@pytest.fixture(scope="module")
def pairs(corpus):
    return published_pairs(corpus)


def test_features_are_of_the_whole_text_and_of_each_field(pairs, corpus):
    views = {name.partition(":")[0] for name in pairs.columns if ":" in name}
    assert views == {"text", "brand", "title"}
    assert {"columns_equal", "columns_contradict"} <= set(pairs.columns)
    assert all(len(column) == len(pairs.same) == 240 for column in pairs.columns.values())
    assert {split: len(pairs.of(split)[1]) for split in SPLITS} == {"train": 144, "val": 48, "test": 48}
    for split in SPLITS:
        np.testing.assert_array_equal(pairs.of(split)[1], corpus.pairs[split].label > 0)


def test_what_is_learnt_keeps_codes_apart_and_is_right_on_test(pairs):
    found = measure(pairs, PairClassifier.learnt(pairs))
    assert found.f1 > 0.9
    assert found.f1_interval[0] <= found.f1 <= found.f1_interval[1]
    assert found.accuracy > 0.9


def test_features_of_a_pair_alone_do_not_change_with_the_pairs_that_are_labelled(corpus):
    less = corpus.pairs["test"]
    fewer = {**corpus.pairs, "test": replace(less, left=less.left[:9], right=less.right[:9], label=less.label[:9])}
    for scope in ("pair", "table"):
        whole, part = published_pairs(corpus, scope=scope), published_pairs(replace(corpus, pairs=fewer), scope=scope)
        for name in whole.columns:
            if scope == "pair" or not re.search(GROUPS["standing in the tables"], name):
                np.testing.assert_array_equal(whole.columns[name][: len(part.same)], part.columns[name], err_msg=name)


def test_standing_says_rank_and_distance_to_the_best_other_record(corpus):
    pairs = published_pairs(corpus, scope="table")
    rank, gap = pairs.columns["text:lexical_rank_left"], pairs.columns["text:lexical_gap_left"]
    assert ((rank == 0) == (gap >= -1e-6)).all()
    assert set(np.round(np.expm1(rank)).astype(int)) <= set(range(11))
    with pytest.raises(ValueError, match="'pair' or 'table', got 'both'"):
        published_pairs(corpus, scope="both")


def test_a_group_of_features_can_be_left_out(pairs):
    for pattern in GROUPS.values():
        assert not [name for name in pairs.without(pattern).columns if re.search(pattern, name)]
    found = without_groups(pairs)
    assert found["codes alone"] > 0.9
    assert {name.removeprefix("without ") for name in found} <= {*GROUPS, "codes alone"}


def test_a_code_in_common_says_the_same_without_learning(corpus):
    assert codes_rule(corpus, ["title"]) == 1
    assert codes_rule(corpus, ["brand"]) == 0


def test_the_score_of_another_model_is_a_feature(corpus, pairs):
    def by_length(left, right):
        return [len(one) - len(other) for one, other in zip(left, right, strict=True)]

    more = published_pairs(corpus, models={"length": by_length})
    assert more.columns.keys() - pairs.columns.keys() == {"model:length"}
    texts = corpus.texts.to_pylist()
    first = corpus.pairs["train"]
    assert more.columns["model:length"][0] == len(texts[first.left[0]]) - len(texts[first.right[0]])


def test_the_regression_is_stored_as_numbers(pairs):
    columns, same = pairs.of("train")
    matcher = regression(columns, same, ridge=10.0)
    again = Matcher.from_json(json.loads(json.dumps(matcher.to_json())))
    np.testing.assert_allclose(again.probability(columns), matcher.probability(columns), atol=0.01)


def test_trees_read_by_numpy_say_what_scikit_learn_says(pairs, monkeypatch):
    from sklearn.ensemble import HistGradientBoostingClassifier as Boosted

    fitted = []
    fit = Boosted.fit
    monkeypatch.setattr(Boosted, "fit", lambda self, *data: (fitted.append(self), fit(self, *data))[1])
    columns, same = pairs.of("train")
    trees = grown(list(columns), np.column_stack(list(columns.values())), same)
    held_out = pairs.of("test")[0]
    expected = fitted[0].predict_proba(np.column_stack(list(held_out.values())))[:, 1]
    np.testing.assert_allclose(trees.probability(held_out), expected, atol=1e-9)
    with pytest.raises(ValueError, match="there is no text:letters"):
        trees.probability({name: column for name, column in held_out.items() if name != "text:letters"})

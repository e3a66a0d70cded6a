from pathlib import Path

import hydra
import numpy as np
import pytest
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st

from small_corpora import corpus_of
from twicetold_lab.data.corpus import UNKNOWN, Pairs
from twicetold_lab.mining import bm25, cluster, random

CONF = Path(__file__).parents[4] / "conf"
MINERS = {"random": random.mine, "bm25": bm25.mine, "cluster": cluster.mine}
every_miner = pytest.mark.parametrize("mine", MINERS.values(), ids=MINERS.keys())
WORDS = ["bank", "rates", "rise", "fall", "virus", "film", "star", "phone"]


def build(texts, codes, split, *, kind="documents", pairs=()):
    """A corpus with the group `g`; `split` says 0, 1 or 2 for each text, `pairs` are (left, right, label) of train."""
    members = {name: np.flatnonzero(np.array(split) == i) for i, name in enumerate(("train", "val", "test"))}
    columns = list(zip(*pairs, strict=True)) if pairs else [(), (), ()]
    train = Pairs(*(np.array(c, dtype=t) for c, t in zip(columns, (np.int64, np.int64, np.float32), strict=True)))
    one = {s: Pairs(members[s][:1], members[s][1:2], np.ones(1, np.float32)) for s in ("val", "test")}
    pairs = {} if kind == "documents" else {"train": train, **one}
    return corpus_of(texts, kind=kind, groups={"g": np.array(codes, dtype=np.int64)}, members=members, pairs=pairs)


@st.composite
def corpora(draw):
    free = draw(st.integers(0, 16))
    # Two groups of two in train, two texts in each other split; everything between these is open.
    codes = [0, 0, 1, 1, *draw(st.lists(st.integers(UNKNOWN, 4), min_size=free, max_size=free)), 0, 1, 0, 1]
    split = [0, 0, 0, 0, *draw(st.lists(st.integers(0, 2), min_size=free, max_size=free)), 1, 1, 2, 2]
    texts = [" ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))) for _ in codes]
    kind = draw(st.sampled_from(["documents", "labelled_pairs", "graded_pairs"]))
    if kind == "documents":
        return build(texts, codes, split)
    train = [i for i, s in enumerate(split) if s == 0]
    grades = st.sampled_from([0.0, 1.0]) if kind == "labelled_pairs" else st.sampled_from([0.0, 1.0, 2.5, 5.0])
    ends = st.tuples(st.sampled_from(train), st.sampled_from(train), grades).filter(lambda p: p[0] != p[1])
    return build(texts, codes, split, kind=kind, pairs=draw(st.lists(ends, min_size=1, max_size=20)))


def mined(mine, corpus, **options):
    """The triplets, or None where the corpus allows none (every negative has the anchor's text, say)."""
    try:
        return mine(corpus, **options)
    except ValueError as error:
        if "no triplet can be made" not in str(error):
            raise
        return None


@every_miner
@given(corpus=corpora(), per_anchor=st.integers(1, 5), seed=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_triplets_name_three_train_texts_with_the_right_labels_and_never_repeat(mine, corpus, per_anchor, seed):
    triplets = mined(mine, corpus, label="g", per_anchor=per_anchor, seed=seed)
    if triplets is None:
        return
    code, texts = corpus.groups["g"], corpus.texts.to_pylist()
    rows = list(zip(triplets.anchor.tolist(), triplets.positive.tolist(), triplets.negative.tolist(), strict=True))
    assert len(set(rows)) == len(rows) == triplets.card["triplets"]
    alike = {
        frozenset((left, right))
        for pairs in ([corpus.pairs["train"]] if corpus.pairs else [])
        for left, right, label in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.label.tolist(), strict=True)
        if label > (1 if corpus.kind == "graded_pairs" else 0)
    }
    train = set(corpus.members["train"].tolist())
    for anchor, positive, negative in rows:
        assert len({anchor, positive, negative}) == 3
        assert {anchor, positive, negative} <= train
        assert code[anchor] == code[positive] != UNKNOWN
        assert code[negative] not in (code[anchor], UNKNOWN)
        assert texts[anchor] != texts[negative]
        assert frozenset((anchor, negative)) not in alike


@every_miner
@given(corpus=corpora(), per_anchor=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_the_card_counts_what_was_mined(mine, corpus, per_anchor):
    triplets = mined(mine, corpus, label="g", per_anchor=per_anchor, seed=0)
    if triplets is None:
        return
    card = triplets.card
    known = corpus.groups["g"][corpus.members["train"]]
    known = known[known != UNKNOWN]
    alone = sum(int(np.sum(known == code)) == 1 for code in known)
    assert card["texts"] == len(known)
    assert card["anchors_without_positive"] == alone
    assert card["anchors"] == len(set(triplets.anchor.tolist()))
    assert sum(card["negatives"].values()) == card["triplets"] == len(triplets)
    assert sum(card["left_out"].values()) + len(triplets) == (len(known) - alone) * per_anchor
    assert np.unique(triplets.anchor, return_counts=True)[1].max() <= per_anchor


@every_miner
def test_the_same_seed_gives_the_same_bytes_and_another_seed_gives_others(mine, tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(200)]
    corpus = build(texts, rng.integers(20, size=200), [0] * 190 + [1] * 5 + [2] * 5)
    files = []
    for number, seed in enumerate((7, 7, 8)):
        mine(corpus, seed=seed, label="g", per_anchor=2).save(tmp_path / f"{number}.parquet")
        files.append((tmp_path / f"{number}.parquet").read_bytes())
    assert files[0] == files[1] != files[2]


@every_miner
def test_texts_outside_train_and_of_unknown_group_change_nothing(mine):
    texts = ["bank rates", "rates rise", "star film", "film phone", "bank film"]
    codes = [0, 0, 1, 1, UNKNOWN]
    plain = build([*texts, "a", "b"], [*codes, 0, 1], [0, 0, 0, 0, 0, 1, 2])
    crowded = build([*texts, "bank rates", "rates rise", "film"], [*codes, 0, 0, 1], [0, 0, 0, 0, 0, 1, 1, 2])
    first, second = (mine(c, seed=1, label="g", per_anchor=2) for c in (plain, crowded))
    np.testing.assert_array_equal(first.negative, second.negative)
    assert first.card == second.card
    assert first.card["texts"] == 4


@every_miner
def test_positives_are_all_different_until_the_group_is_used_up(mine):
    corpus = build(
        [f"text number {i} {WORDS[i % 8]}" for i in range(12)], [0] * 6 + [1] * 4 + [0, 0], [0] * 10 + [1, 2]
    )
    triplets = mine(corpus, seed=0, label="g", per_anchor=5)
    of_first = triplets.positive[triplets.anchor == 0]
    assert sorted(of_first.tolist()) == [1, 2, 3, 4, 5]


@every_miner
@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([0, 0, 0, 0, 0, 0], r"1 group\(s\), the largest of 4"),
        ([0, 1, 2, 3, 0, 0], r"4 group\(s\), the largest of 1"),
        ([UNKNOWN] * 4 + [0, 0], r"0 texts of known group in 0 group\(s\)"),
    ],
    ids=["one group", "only singletons", "none known"],
)
def test_a_corpus_without_any_triplet_is_an_error_that_says_why(mine, codes, said):
    corpus = build(["bank", "rates", "film", "star", "x", "y"], codes, [0, 0, 0, 0, 1, 2])
    with pytest.raises(ValueError, match=said):
        mine(corpus, seed=0, label="g", per_anchor=1)


@every_miner
def test_negatives_with_the_anchors_own_text_are_left_out_and_all_of_them_is_an_error(mine):
    corpus = build(["bank", "bank", "bank", "bank", "x", "y"], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 2])
    with pytest.raises(ValueError, match="has the text of its anchor"):
        mine(corpus, seed=0, label="g", per_anchor=1)


@every_miner
def test_wrong_options_are_refused_with_what_is_there(mine):
    corpus = build(["bank", "rates", "film", "star", "x", "y"], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 2])
    with pytest.raises(ValueError, match=r"no group 'story'; it has \['g'\]: set data.label=g "):
        mine(corpus, seed=0, label="story", per_anchor=1)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        mine(corpus, seed=0, label="g", per_anchor=0)


def test_next_positives_follow_in_the_order_of_the_corpus_and_the_last_of_a_group_is_no_anchor():
    corpus = build([f"t{i}" for i in range(8)], [0, 1, 0, 1, 0, 1, 0, 0], [0] * 6 + [1, 2])
    triplets = random.mine(corpus, seed=0, label="g", per_anchor=1, positive="next")
    assert list(zip(triplets.anchor.tolist(), triplets.positive.tolist(), strict=True)) == [
        (0, 2),
        (1, 3),
        (2, 4),
        (3, 5),
    ]
    assert triplets.card["anchors_without_positive"] == 2


def test_an_unknown_kind_of_positive_is_refused():
    corpus = build(["bank", "rates", "film", "star", "x", "y"], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 2])
    with pytest.raises(ValueError, match="got 'previous'"):
        random.mine(corpus, seed=0, label="g", per_anchor=1, positive="previous")


def test_random_negatives_reach_every_text_of_the_other_groups_about_equally_often():
    codes = [0] * 5 + [1] * 10 + [2] * 15
    corpus = build([f"t{i}" for i in range(32)], [*codes, 0, 0], [0] * 30 + [1, 2])
    draws = [random.mine(corpus, seed=s, label="g", per_anchor=4) for s in range(60)]
    negatives = np.concatenate([d.negative[np.isin(d.anchor, np.arange(5, 15))] for d in draws])
    counts = np.bincount(negatives, minlength=30)
    expected = len(negatives) / 20
    assert (counts[5:15] == 0).all()
    assert np.abs(np.delete(counts, np.s_[5:15]) - expected).max() < 5 * np.sqrt(expected)


def test_cluster_uses_each_labelled_non_duplicate_once_and_then_members_of_other_groups():
    pairs = [(0, 1, 1.0), (0, 2, 0.0), (3, 0, 0.0), (0, 3, 0.0), (2, 4, 1.0)]
    corpus = build([f"t{i}" for i in range(10)], [0, 0, 1, 2, 1, 3] + [UNKNOWN] * 4, [0] * 6 + [1, 1, 2, 2],
                   kind="labelled_pairs", pairs=pairs)  # fmt: skip
    triplets = cluster.mine(corpus, seed=0, label="g", per_anchor=2)
    assert set(triplets.negative[triplets.anchor == 0].tolist()) == {2, 3}
    assert 0 in triplets.negative[triplets.anchor == 2].tolist()  # a non-duplicate is one in both directions
    labelled = triplets.card["negatives"]["labelled"]
    assert labelled == 3
    assert triplets.card["negatives_labelled_different"] >= labelled


def test_cluster_leaves_out_a_labelled_non_duplicate_that_the_closure_contradicts():
    pairs = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 0.0)]
    corpus = build([f"t{i}" for i in range(9)], [0, 0, 0, 1, 1] + [UNKNOWN] * 4, [0] * 5 + [1, 1, 2, 2],
                   kind="labelled_pairs", pairs=pairs)  # fmt: skip
    card = cluster.mine(corpus, seed=0, label="g", per_anchor=2).card
    assert card["labelled_different_in_one_group"] == 1
    assert card["negatives"]["labelled"] == 0


def test_cluster_takes_graded_pairs_up_to_the_negative_grade():
    pairs = [(0, 1, 5.0), (0, 2, 1.0), (0, 3, 3.0)]
    corpus = build([f"t{i}" for i in range(10)], [0, 0, 1, 2, 1, 2] + [UNKNOWN] * 4, [0] * 6 + [1, 1, 2, 2],
                   kind="graded_pairs", pairs=pairs)  # fmt: skip
    low = cluster.mine(corpus, seed=0, label="g", per_anchor=4)
    assert low.card["negatives"]["labelled"] == 2  # (0, 2) and (2, 0)
    assert 3 not in low.negative[low.anchor == 0].tolist()
    high = cluster.mine(corpus, seed=0, label="g", per_anchor=4, negative_grade=3.0)
    assert high.card["negatives"]["labelled"] == 4


def test_the_default_mining_is_the_strategies_and_says_how_to_call_them():
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose(overrides=["+mining=default"])
    miners = instantiate(config.mining.strategies)
    assert set(miners) == set(MINERS)
    corpus = build(["bank rates", "rates rise", "film", "star film", "x", "y"], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 2])
    for name, mine in miners.items():
        assert mine(corpus, seed=0, label="g").card["strategy"] == name

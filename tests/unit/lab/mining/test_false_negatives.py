from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from twicetold_lab.data.clusters import duplicate_clusters
from twicetold_lab.data.corpus import Corpus, Pairs
from twicetold_lab.mining import bm25, cluster, false_negatives, random
from twicetold_lab.mining.triplets import Triplets

MINERS = {
    mine.__module__.rpartition(".")[2]: partial(mine, per_anchor=2) for mine in (random.mine, bm25.mine, cluster.mine)
}


def corpus_of(texts, pairs, *, kind="labelled_pairs"):
    """`pairs` are (left, right, label) of train; two more texts stand in val and test."""
    left, right, label = (np.array(c) for c in zip(*pairs, strict=True))
    count = len(texts)
    alike, train = label >= 1, np.arange(count)
    ends = np.array([count]), np.array([count + 1]), np.ones(1, np.float32)
    clusters = duplicate_clusters(count + 2, left=left[alike], right=right[alike], members=train)
    return Corpus(
        name="small",
        kind=kind,
        ids=pa.array([str(i) for i in range(count + 2)]),
        texts=pa.array([*texts, "one", "other"]),
        groups={"cluster": clusters},
        members={"train": train, "val": np.array([count, count + 1]), "test": np.array([count, count + 1])},
        pairs={"train": Pairs(left, right, label.astype(np.float32)), "val": Pairs(*ends), "test": Pairs(*ends)},
    )


@pytest.fixture
def questions():
    """60 clusters of three texts that share their words with one other cluster, and labelled non-duplicates."""
    rng = np.random.default_rng(0)
    texts = [f"topic{i // 6} about{i // 3} word{rng.integers(5)} {i}" for i in range(180)]
    same = [(3 * c + a, 3 * c + b, 1.0) for c in range(60) for a, b in ((0, 1), (1, 2), (0, 2))]
    other = [(6 * t + int(a), 6 * t + 3 + int(b), 0.0) for t in range(30) for a, b in rng.integers(3, size=(2, 2))]
    return corpus_of(texts, same + other)


def of(anchor, negative):
    """Triplets of these negatives; the positive is a text that occurs nowhere else."""
    positive = np.full(len(anchor), 99)
    return Triplets(np.array(anchor), positive, np.array(negative), card={"strategy": "given", "triplets": len(anchor)})


def test_each_negative_is_counted_by_what_all_labels_say_of_it():
    corpus = corpus_of(list("abcdefgh"), [(0, 1, 1), (1, 2, 1), (3, 4, 0), (5, 6, 1), (0, 7, 0)])
    hidden = Pairs(np.array([1, 3]), np.array([0, 4]), np.array([1, 0], np.float32))
    # a hidden duplicate from both sides, one by transitivity, a hidden non-duplicate, a visible one, a stranger
    found = false_negatives.compare(of([0, 1, 0, 4, 0, 3], [1, 0, 2, 3, 7, 7]), corpus, hidden, label="cluster")
    assert found == {"negatives": 5, "known_duplicates": 2, "judged": 2, "judged_duplicates": 1}


def test_a_text_without_a_cluster_is_no_known_duplicate():
    corpus = corpus_of(list("abcd"), [(0, 1, 1), (2, 3, 0)])
    nothing = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    found = false_negatives.compare(of([4], [5]), corpus, nothing, label="cluster")
    assert found == {"negatives": 1, "known_duplicates": 0, "judged": 0, "judged_duplicates": 0}


def test_hidden_pairs_leave_the_clusters_and_the_rest_stays(questions):
    rest, hidden = false_negatives.hide(questions, label="cluster", share=0.3, seed=0)
    pairs, kept = questions.pairs["train"], rest.pairs["train"]
    assert len(hidden) + len(kept) == len(pairs)
    assert 0.2 < len(hidden) / len(pairs) < 0.4
    assert {0.0, 1.0} == set(hidden.label.tolist())
    assert rest.groups["cluster"].max() > questions.groups["cluster"].max()
    alike = kept.label == 1
    np.testing.assert_array_equal(
        rest.groups["cluster"],
        duplicate_clusters(
            len(questions), left=kept.left[alike], right=kept.right[alike], members=questions.members["train"]
        ),
    )
    assert rest.pairs["test"] is questions.pairs["test"]
    np.testing.assert_array_equal(rest.members["train"], questions.members["train"])


def test_a_pair_that_was_labelled_again_is_hidden_with_all_its_labels():
    # texts 0 and 2 are equal, and so are 1 and 3: one question under two ids
    corpus = corpus_of(
        ["a", "b", "a", "b", *"cdefghij"], [(0, 1, 1), (1, 0, 1), (3, 2, 0), *((i, i + 1, 1) for i in range(4, 11))]
    )
    for seed in range(10):
        _, hidden = false_negatives.hide(corpus, label="cluster", share=0.5, seed=seed)
        ends = zip(hidden.left.tolist(), hidden.right.tolist(), strict=True)
        assert sum(pair in {(0, 1), (1, 0), (3, 2)} for pair in ends) in (0, 3)


@pytest.mark.parametrize("name", MINERS)
def test_the_triplets_are_those_of_all_labels_and_the_card_has_the_counts(name, questions):
    mine = MINERS[name]
    plain = mine(questions, seed=0, label="cluster")
    options = {"seed": 0, "label": "cluster", "share": 0.3}
    measured = false_negatives.with_false_negatives(plain, mine, questions, **options)
    for column in ("anchor", "positive", "negative"):
        np.testing.assert_array_equal(getattr(measured, column), getattr(plain, column))
    found = measured.card["false_negatives"]
    assert {**plain.card, "false_negatives": found} == measured.card
    assert 0 <= found["judged_duplicates"] <= found["known_duplicates"] <= found["negatives"]
    assert found["judged_duplicates"] <= found["judged"] <= found["pairs_hidden"]
    assert measured.card == false_negatives.with_false_negatives(plain, mine, questions, **options).card


def test_words_find_more_hidden_duplicates_than_chance_does(questions):
    def rate(mine):
        found = false_negatives.with_false_negatives(
            mine(questions, seed=0, label="cluster"), mine, questions, seed=0, label="cluster", share=0.3
        ).card["false_negatives"]
        return found["known_duplicates"] / found["negatives"]

    assert rate(partial(bm25.mine, per_anchor=2, ranks=(1, 3))) > 5 * rate(MINERS["random"]) > 0


def test_the_miner_never_sees_what_is_hidden_nor_val_and_test_labels(questions):
    seen = []

    def spy(corpus, *, seed, label):
        seen.append(corpus)
        return MINERS["random"](corpus, seed=seed, label=label)

    plain = MINERS["random"](questions, seed=0, label="cluster")
    false_negatives.with_false_negatives(plain, spy, questions, seed=0, label="cluster", share=0.3)
    (corpus,) = seen
    _, hidden = false_negatives.hide(questions, label="cluster", share=0.3, seed=0)
    visible = set(zip(corpus.pairs["train"].left.tolist(), corpus.pairs["train"].right.tolist(), strict=True))
    assert not visible & set(zip(hidden.left.tolist(), hidden.right.tolist(), strict=True))


def refuse(corpus, *, seed, label):
    raise ValueError("no triplet can be made")


def test_documents_and_corpora_too_small_to_hide_anything_are_not_measured():
    corpus = corpus_of(list("abcd"), [(0, 1, 1), (2, 3, 0)])
    triplets = MINERS["random"](corpus, seed=0, label="cluster")

    def card(strategy, corpus, share):
        return false_negatives.with_false_negatives(
            triplets, strategy, corpus, seed=0, label="cluster", share=share
        ).card

    assert card(refuse, corpus, 0.5) == triplets.card
    assert card(MINERS["random"], corpus, 1 - 1e-9) == triplets.card  # no pair is left
    documents = Corpus(
        name="documents",
        kind="documents",
        ids=corpus.ids,
        texts=corpus.texts,
        groups=corpus.groups,
        members={"train": np.arange(4), "val": np.array([4]), "test": np.array([5])},
    )
    assert card(MINERS["random"], documents, 0.2) == triplets.card


@pytest.mark.parametrize("share", [0, 1, -0.5])
def test_a_share_that_hides_nothing_or_everything_is_refused(share, questions):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        false_negatives.with_false_negatives(
            of([0], [1]), MINERS["random"], questions, seed=0, label="cluster", share=share
        )

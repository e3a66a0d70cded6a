import bm25s
import numpy as np
import pytest
from scipy.sparse import csr_array

from small_corpora import documents_of
from twicetold_lab.mining import bm25
from twicetold_lab.mining.groups import train_groups


@pytest.fixture
def of_groups(crowd):
    """Many texts of 60 groups."""
    return documents_of(crowd, np.random.default_rng(3).integers(60, size=300))


def ranked_all(corpus, *, last, max_df=10_000):
    groups = train_groups(corpus, label="g", per_anchor=1)
    texts = corpus.texts.take(groups.texts).to_pylist()
    anchors = groups.with_positive()
    batches = list(bm25.hardest(texts, groups, anchors, last=last, max_df=max_df))
    assert [b.start for b, _ in batches] == [0] + [b.stop for b, _ in batches[:-1]]
    return groups, texts, anchors, np.concatenate([ranked for _, ranked in batches])


def test_the_ranking_is_that_of_bm25s_without_the_anchors_group(of_groups):
    groups, texts, anchors, ranked = ranked_all(of_groups, last=20)
    reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    reference.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    for anchor, row in zip(anchors, ranked, strict=True):
        scores = reference.get_scores(texts[anchor].split())
        scores[groups.code == groups.code[anchor]] = 0
        found = row[row != bm25.NOBODY]
        assert len(set(found.tolist())) == len(found) == min(20, np.count_nonzero(scores))
        np.testing.assert_allclose(scores[found], np.sort(scores)[::-1][: len(found)], rtol=1e-5)


def test_the_size_of_the_batches_changes_nothing(of_groups, monkeypatch):
    whole = bm25.mine(of_groups, seed=0, label="g", per_anchor=3)
    monkeypatch.setattr(bm25, "PRODUCTS", 500)
    monkeypatch.setattr(bm25, "PADDED", 700)
    pieces = bm25.mine(of_groups, seed=0, label="g", per_anchor=3)
    np.testing.assert_array_equal(whole.negative, pieces.negative)
    assert whole.card == pieces.card


def test_cutting_long_rows_changes_no_rank(of_groups, monkeypatch):
    *_, cut = ranked_all(of_groups, last=5)
    monkeypatch.setattr(bm25, "LONG", 1_000)
    *_, whole = ranked_all(of_groups, last=5)
    np.testing.assert_array_equal(cut, whole)


def test_a_cut_keeps_the_best_entries_and_their_ties():
    scores = csr_array(np.array([[9, 1, 2, 2, 3, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]], dtype=np.float32))
    kept = bm25._cut(scores, np.array([2, 1])).toarray()
    np.testing.assert_array_equal(kept, [[9, 0, 0, 0, 3, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]])
    assert bm25._cut(scores, np.array([3, 1])).nnz == scores.nnz  # 10 entries are not more than 4 times 3
    ties = csr_array(np.array([[5, 4, 4, 4, 1, 1, 1, 1, 1]], dtype=np.float32))
    assert bm25._cut(ties, np.array([2])).nnz == 4


def test_negatives_come_from_the_window_of_ranks(of_groups):
    groups, _, anchors, ranked = ranked_all(of_groups, last=12)
    triplets = bm25.mine(of_groups, seed=0, label="g", per_anchor=2, ranks=(5, 12))
    full = (ranked[:, :6] != bm25.NOBODY).all(axis=1)  # at least two texts stand in the window
    assert full.mean() > 0.9
    for anchor, row in zip(groups.texts[anchors[full]], ranked[full], strict=True):
        window = groups.texts[row[4:][row[4:] != bm25.NOBODY]]
        assert set(triplets.negative[triplets.anchor == anchor].tolist()) <= set(window.tolist())


def test_where_the_window_is_short_members_of_other_groups_fill_up_and_are_counted():
    corpus = documents_of(["blue sky", "blue sea", "blue tie", "red tie", "old car", "new car"], [0, 0, 1, 1, 2, 2])
    card = bm25.mine(corpus, seed=0, label="g", per_anchor=1, ranks=(1, 2)).card
    # "blue sky" and "blue sea" meet "blue tie", which meets both; "red tie" meets its own group alone, as the cars do.
    assert card["negatives"] == {"bm25": 3, "other_group": 3}


def test_words_that_stand_in_too_many_texts_do_not_query():
    corpus = documents_of(
        ["the blue sky", "the blue sea", "the blue tie", "the car", "the bus", "the tram"], [0, 0, 1, 1, 2, 2]
    )
    _, texts, anchors, ranked = ranked_all(corpus, last=5, max_df=3)
    found = {texts[a]: [texts[p] for p in row if p != bm25.NOBODY] for a, row in zip(anchors, ranked, strict=True)}
    assert found["the blue sky"] == ["the blue tie"]
    assert found["the bus"] == []
    assert (ranked_all(corpus, last=4)[3] != bm25.NOBODY).all()


def test_texts_without_a_single_word_get_random_negatives():
    corpus = documents_of(["?!", "...", "--", "!", "blue car", "blue bus"], [0, 0, 1, 1, 2, 2])
    card = bm25.mine(corpus, seed=0, label="g", per_anchor=1, ranks=(1, 2)).card
    assert card["negatives"] == {"bm25": 0, "other_group": 6}
    nothing = documents_of(["?!", "...", "--", "!"], [0, 0, 1, 1])
    assert bm25.mine(nothing, seed=0, label="g", per_anchor=1).card["negatives"]["bm25"] == 0


@pytest.mark.parametrize("ranks", [(0, 5), (6, 5)])
def test_a_window_that_is_none_is_refused(of_groups, ranks):
    with pytest.raises(ValueError, match="1 <= first <= last; got"):
        bm25.mine(of_groups, seed=0, label="g", per_anchor=1, ranks=ranks)

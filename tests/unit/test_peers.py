"""`tools/peers.py`: what it makes of a library's links and groups; rensa itself where it is installed."""

import numpy as np
import pytest

from scripts import script
from twicetold.evaluation.group_metrics import group_scores
from twicetold.features.tfidf import TfIdf
from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Links


@pytest.fixture(scope="module")
def peers():
    return script("tools/peers.py")


def texts_of(peers, seed):
    """Stories of five headlines that share most of their words."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(60), 5)
    texts = [" ".join(f"w{code * 8 + word}" for word in rng.permutation(8)[:6]) for code in codes]
    return peers.Texts(texts, codes, "story", True)


def exact_peer(peers):
    """A library that links texts by the cosine of their words."""

    def rows(texts):
        return TfIdf().fit(texts).transform(texts).gather(np.arange(len(texts)))

    def matrix(texts):
        from twicetold.trained.neural import matrix_of

        return matrix_of(rows(texts))

    def dedupe(texts, threshold):
        similar = matrix(texts).toarray()
        similar = similar @ similar.T
        left, right = np.nonzero(np.triu(similar >= threshold, 1))
        links = Links.of(len(texts), left, right, similar[left, right])
        return peers.Found(links, components(len(texts), left, right))

    return peers.Peer("exact", "1.0", "words", (0.9,), dedupe, matrix)


def test_a_row_has_the_measures_of_the_librarys_own_links_and_groups(peers):
    val, test, peer = texts_of(peers, 0), texts_of(peers, 1), exact_peer(peers)
    fixed, chosen = peers.rows_of_peer("some", peer, val, test)
    found = peer.dedupe(test.texts, 0.9)
    right = test.codes[found.links.left] == test.codes[found.links.right]
    assert fixed.metrics["link_precision"] == pytest.approx(right.mean())
    assert fixed.metrics["link_recall"] == pytest.approx(right.sum() / (60 * 10))
    assert fixed.metrics["ari"] == pytest.approx(group_scores(found.group, test.codes).ari)
    of_links = {"link_precision", "link_recall", "link_text_precision"}
    assert set(fixed.intervals) == {"average_precision_story", "ari", "b3", "pair_f1"} | of_links
    assert "link_precision_at_90" in chosen.metrics
    assert chosen.settings.endswith("chosen on validation")
    assert chosen.metrics["ari"] >= fixed.metrics["ari"]


def test_shingles_are_runs_of_five_and_a_short_text_is_one(peers):
    assert peers.shingles_of("Abc  DEFG", "5 letters") == {"abc d", "bc de", "c def", " defg"}
    assert peers.shingles_of("a b c d e f", "5 words") == {"a b c d e", "b c d e f"}
    assert peers.shingles_of("a b", "5 words") == {"a b"}


def test_rows_of_minhash_multiply_to_the_jaccard_similarity(peers):
    pytest.importorskip("rensa")
    peer, texts = peers.minhash("5 letters"), texts_of(peers, 0).texts[:40]
    estimate = (lambda m: (m @ m.T).toarray())(peer.rows(texts))
    sets = [peers.shingles_of(text, "5 letters") for text in texts]
    true = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    assert np.abs(estimate - true).max() < 0.25  # five standard deviations of 128 permutations
    links = peer.dedupe(texts, 0.5).links
    np.testing.assert_allclose(links.similarity, estimate[links.left, links.right], atol=1e-5)
    clear = np.transpose(np.nonzero(np.triu(estimate >= 0.6, 1)))
    assert {tuple(pair) for pair in clear.tolist()} <= set(zip(links.left.tolist(), links.right.tolist(), strict=True))

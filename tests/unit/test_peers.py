"""`tools/peers.py`: what it makes of a library's links and groups; rensa itself where it is installed."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.evaluation.group_metrics import group_scores
from twicetold.features.tfidf import TfIdf
from twicetold.neighbours.components import components
from twicetold.neighbours.grouping import Links

SCRIPT = Path(__file__).parents[2] / "tools" / "peers.py"


@pytest.fixture(scope="module")
def peers():
    spec = importlib.util.spec_from_file_location("peers", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = script  # dataclasses look their module up
    spec.loader.exec_module(script)
    yield script
    del sys.modules["peers"]


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


def test_the_chosen_threshold_has_the_best_groups_of_validation(peers):
    val, peer = texts_of(peers, 0), exact_peer(peers)
    by_hand = {t: group_scores(peer.dedupe(val.texts, t).group, val.codes).ari for t in peers.GRID}
    assert by_hand[peers.best_threshold(peer, val)] == max(by_hand.values())


def test_only_peers_go_to_the_file_and_all_rows_to_the_table(peers, monkeypatch, tmp_path, capsys):
    row = peers.Row(
        "some",
        "exact",
        "1.0",
        "words",
        {"average_precision_story": 0.5} | dict.fromkeys(("ari", "b3", "pair_f1"), 0.1),
        {},
        1.0,
    )
    ours = peers.Row(**{**vars(row), "name": "twicetold tfidf", "ours": True})
    monkeypatch.setattr(peers, "measure", lambda *_: iter([ours, row]))
    for name in peers.THREADS:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(peers.torch, "set_num_threads", lambda _: None)
    peers.main(["--data", "some", "--out", str(tmp_path / "peers.json")])
    assert [each["name"] for each in json.loads((tmp_path / "peers.json").read_text())] == ["exact"]
    assert len(capsys.readouterr().out.strip().splitlines()) == 4


def test_a_package_that_is_missing_costs_its_row_and_a_line(peers, monkeypatch, capsys):
    for package in ("rensa", "semhash", "model2vec", "wordllama"):
        monkeypatch.setitem(sys.modules, package, None)
    assert list(peers.peers({})) == []
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    assert all(line.startswith("without ") for line in said)


@given(st.floats(0.1, 0.95))
def test_bands_are_the_fewest_that_find_half_of_the_pairs_below_the_threshold(peers, threshold):
    middle = lambda bands: (1 / bands) ** (bands / peers.PERMUTATIONS)  # noqa: E731
    bands = peers.bands_for(threshold)
    assert peers.PERMUTATIONS % bands == 0
    assert middle(bands) < threshold or bands == peers.PERMUTATIONS
    assert bands == 1 or middle(bands // 2) >= threshold


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

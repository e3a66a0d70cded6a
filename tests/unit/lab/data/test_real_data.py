"""The sources on the real data. The mirror may hold a subset, so counts are bounds and identities."""

import os
from pathlib import Path

import numpy as np
import pytest

import scripts
from twicetold_lab.data.download import RemoteFile, fetch
from twicetold_lab.data.sources import quora, stsb, uci_news, uci_news_by_time
from twicetold_lab.data.sources.quora import fingerprints

MIRROR = os.environ.get("TWICETOLD_MIRROR", "")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not MIRROR, reason="TWICETOLD_MIRROR is not set: there is no real data to read"),
]
FILES = {
    "uci_news": ["newsCorpora.csv"],
    "quora": ["quora_duplicate_questions.tsv"],
    "stsbenchmark": ["sts-train.csv", "sts-dev.csv", "sts-test.csv"],
}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """Every source fetched through the mirror, as the download stage does."""
    root = tmp_path_factory.mktemp("raw")
    for source, names in FILES.items():
        files = [RemoteFile(name, source) for name in names]
        records = fetch(files, root / source, mirror=MIRROR, store=root / "store")
        assert {record.origin for record in records} == {"mirror"}
    return root


def test_headlines_are_read_whole(raw):
    corpus = uci_news.read(raw / "uci_news", name="x")
    lines = (raw / "uci_news" / "newsCorpora.csv").read_bytes().count(b"\n")
    assert corpus.card["rows"] == lines
    assert len(corpus) == lines - sum(corpus.card["malformed"].values())
    assert corpus.card["audit"]["test"]["stories_in_train"] == 0.0


def test_headlines_split_by_time_have_the_published_sizes(raw):
    corpus = uci_news_by_time.read(raw / "uci_news", name="x")
    assert [len(m) for m in corpus.members.values()] == [4500, 500, 5348]
    assert corpus.card["audit"]["test"]["texts_before_end_of_train"] == 0.0


def test_train_and_test_of_the_split_by_time_have_like_numbers_of_headlines_to_a_story(raw):
    splits = uci_news_by_time.read(raw / "uci_news", name="x").card["splits"]
    train, test = (splits[split]["texts"] / splits[split]["story"] for split in ("train", "test"))
    assert 0.5 < train / test < 2


def test_the_published_partition_is_found_in_the_main_file(raw):
    corpus = quora.read(raw / "quora", name="x", split="wang")
    counts = corpus.card["partition"]
    assert counts["pairs"] == 20_000
    assert counts["matched"] >= 19_990
    assert counts["matched_with_another_label"] == 0
    missing = counts["not_in_the_file"]
    for split in ("val", "test"):
        label = corpus.pairs[split].label
        assert len(label) == 10_000 - missing[split]
        assert abs(label.sum() - 5_000) <= missing[split]
    assert corpus.card["audit"]["test"]["equal_pairs_in_train"] == 0.0


@pytest.fixture(scope="module")
def script():
    """`tools/wang_fingerprints.py`, and the folder of the partition's files."""
    folder = Path(MIRROR, "quora", "Quora_question_pair_partition")
    if not folder.is_dir():
        pytest.skip(f"the mirror has no {folder.name}")
    return scripts.script("tools/wang_fingerprints.py"), folder


def test_the_fingerprints_in_the_package_are_those_of_the_published_files(script):
    module, folder = script
    made, packaged = module.of_partition(folder), quora._wang_partition()
    for name, values in vars(packaged).items():
        np.testing.assert_array_equal(getattr(made, name), values)


def test_no_two_different_pairs_have_one_fingerprint(raw):
    rows = quora._read_pairs(raw / "quora" / quora.FILE)
    left, right = (quora.normal_form(rows.column(f"question{n}")).to_pylist() for n in (1, 2))
    both = set(zip(left, right)) | set(zip(right, left))
    assert len(np.unique(fingerprints(*zip(*both)))) == len(both)


def test_the_graded_pairs_have_the_official_sizes(raw):
    corpus = stsb.read(raw / "stsbenchmark", name="x")
    assert {s: len(p) for s, p in corpus.pairs.items()} == {"train": 5749, "val": 1500, "test": 1379}
    assert corpus.card["malformed"] == {}

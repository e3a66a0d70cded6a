"""Every leaf of conf/data/ that needs no file of the user's gives a corpus that keeps the contract."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf

from twicetold_lab.data.corpus import SPLITS, UNKNOWN, Corpus
from twicetold_lab.data.download import RemoteFile, fetch

LEAVES = sorted((Path(__file__).parents[2] / "conf/data").glob("*.yaml"))
OWN = {"documents", "pairs"}


DOWNLOADS = {
    f"{path.stem}-{file['name']}": file
    for path in LEAVES
    for file in OmegaConf.to_container(OmegaConf.load(path).download)
}


@pytest.mark.parametrize("about", DOWNLOADS.values(), ids=DOWNLOADS)
def test_every_file_has_a_public_address_and_a_check_of_what_comes_from_there(about):
    file = RemoteFile.from_config(about)
    assert file.urls
    assert file.sha256 or file.content or file.optional


@pytest.mark.real
@pytest.mark.parametrize("about", [a for a in DOWNLOADS.values() if "content" in a], ids=lambda about: about["name"])
def test_what_a_mirror_has_of_a_file_looks_like_the_public_one(about, mirror):
    path = mirror / about["source"] / about["name"]
    if not path.is_file():
        pytest.skip(f"the mirror has no {path.name}")
    content = RemoteFile.from_config(about).content
    assert replace(content, size=None, lines=None).fault(path) is None  # it may have a part of the lines


@pytest.mark.parametrize("path", [each for each in LEAVES if OmegaConf.load(each).download], ids=lambda path: path.stem)
def test_a_file_that_is_not_there_is_named_with_the_command_that_fetches_it(path, tmp_path):
    leaf = OmegaConf.load(path)
    with pytest.raises(
        InstantiationException, match=rf"FileNotFoundError\('\S+ is not in .*dvc repro download@{leaf.name}`"
    ):
        instantiate(leaf.source, tmp_path / leaf.name, name=leaf.name)


def leaf_of(path):
    leaf = OmegaConf.load(path)
    return pytest.param(path, id=path.stem, marks=[pytest.mark.real] if leaf.download else [])


@pytest.fixture(scope="module", params=[leaf_of(path) for path in LEAVES if path.stem not in OWN])
def read(request, tmp_path_factory):
    """A function that reads the leaf's corpus, with further options."""
    leaf = OmegaConf.load(request.param)
    root = tmp_path_factory.mktemp(leaf.name)
    files = [RemoteFile.from_config(file) for file in OmegaConf.to_container(leaf.download)]
    mirror = Path(os.environ.get("TWICETOLD_MIRROR", ""))
    if files and mirror.is_dir() and not any((mirror / file.source / file.name).is_file() for file in files):
        pytest.skip(f"the mirror has no {files[0].name}")
    fetch(files, root / "raw", mirror=os.environ.get("TWICETOLD_MIRROR"), store=root / "store")
    return lambda **options: instantiate({**leaf.source, **options}, root / "raw", name=leaf.name)


@pytest.fixture(scope="module")
def corpus(read) -> Corpus:
    return read()


def test_ids_are_unique_and_no_text_is_empty(corpus):
    assert pc.count_distinct(corpus.ids).as_py() == len(corpus)
    assert pc.min(pc.utf8_length(pc.utf8_trim_whitespace(corpus.texts))).as_py() > 0


def test_reading_twice_gives_the_same_corpus(read, corpus, tmp_path):
    corpus.save(tmp_path / "one")
    read().save(tmp_path / "two")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name


def test_document_splits_share_neither_document_nor_story(corpus):
    if corpus.kind != "documents":
        pytest.skip("pairs may share texts, as their split says")
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        assert not set(corpus.members[one]) & set(corpus.members[other])
        if corpus.card["split"] == "story":
            stories = [set(corpus.groups["story"][corpus.members[s]]) for s in (one, other)]
            assert not stories[0] & stories[1]


def test_no_labelled_pair_stands_on_two_sides(corpus):
    if corpus.kind == "documents" or corpus.card["split"] == "official":
        pytest.skip("no pairs, or the split that everybody uses")
    sides = {}
    for split in SPLITS:
        pairs = corpus.pairs[split]
        ends = np.sort(np.stack([pairs.left, pairs.right], axis=1), axis=1)
        sides[split] = set(map(tuple, ends.tolist()))
    assert not sides["train"] & (sides["val"] | sides["test"])
    if corpus.card["split"] != "wang":  # published with one pair on both
        assert not sides["val"] & sides["test"]


def test_a_disjoint_split_shares_no_question(corpus):
    if corpus.card["split"] != "disjoint":
        pytest.skip("not a disjoint split")
    assert not set(corpus.members["train"]) & set(corpus.members["test"])
    assert not set(corpus.members["train"]) & set(corpus.members["val"])


def test_duplicate_clusters_come_from_train_alone_and_join_its_duplicates(corpus):
    if "cluster" not in corpus.groups:
        pytest.skip("no clusters")
    cluster = corpus.groups["cluster"]
    known = np.zeros(len(corpus), bool)
    known[corpus.members["train"]] = True
    assert ((cluster != UNKNOWN) == known).all()
    pairs = corpus.pairs["train"]
    same = pairs.label >= corpus.card.get("positive_grade", 1)
    assert (cluster[pairs.left[same]] == cluster[pairs.right[same]]).all()


def test_a_limit_keeps_every_split_alive(read, corpus):
    small = read(limit=200)
    assert len(small) < len(corpus)
    assert all(len(small.members[split]) for split in SPLITS)


def test_the_card_counts_what_came_and_what_was_left_out(corpus):
    assert corpus.card["rows"] >= 0
    assert set(corpus.card["splits"]) == set(SPLITS)
    assert "malformed" in corpus.card or corpus.name.startswith("toy")
    assert "audit" in corpus.card

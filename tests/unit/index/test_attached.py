"""An index in parts: what is attached is found as in one build, and can be taken away; kills and damage."""

import json
import os
import random

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load_file, save_file

import twicetold
from twicetold.index import cells, changing, open_index, state
from twicetold.index import folder as folder_module
from twicetold.index.folder import MANIFEST
from twicetold.index.info import index_info
from twicetold.index.text_index import TextIndex

WORDS = "bank rate cut film star award drug trial phone chip game vote".split()
ALL = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:4]]
random.Random(0).shuffle(ALL)
IDS = [f"n{number}" for number in range(len(ALL))]
QUERIES = [*ALL[::40], "bank film", "vote vote chip"]
PARTS = {"one": slice(0, 100), "two": slice(100, 350), "three": slice(350, None)}


@pytest.fixture
def model(run):
    return twicetold.load(run("static"))


@pytest.fixture
def start(model, tmp_path):
    """The folder of an index with centres alone, with those of its parts beside it."""
    made = TextIndex.start(model, [ALL[:300], ALL[300:]])
    made.save(tmp_path / "start")
    for name, rows in PARTS.items():
        model.index(ALL[rows], IDS[rows], groups=False, centres=made).save(tmp_path / name)
    return tmp_path / "start"


@pytest.fixture
def attached(start, model):
    """The folder of an index with all parts."""
    with changing(start, model) as index:
        for name in PARTS:
            index.attach(open_index(start.parent / name, model), name)
    return start


def found(index, **options):
    """Ids and scores, to the last bit."""
    return [[(m.id, m.text, m.similarity) for m in each] for each in index.search(QUERIES, 7, **options)]


def test_parts_find_what_one_build_finds_to_the_last_bit(attached, model, monkeypatch):
    index = open_index(attached, model)
    assert (len(index), index.parts, index.attached) == (len(ALL), 3, list(PARTS))
    monkeypatch.setattr(state, "CELLS_FROM", 100)
    whole = model.index(ALL, IDS, groups=False)  # chooses the centres that `start` has
    assert whole.cells == index.cells > 10
    assert found(index) == found(whole)  # recall is the same, so as many cells are visited
    for nprobe in (1, 3, 16):
        assert found(index, nprobe=nprobe) == found(whole, nprobe=nprobe)
    scores = [[[score for *_, score in each] for each in found(some, exact=True)] for some in (index, whole)]
    np.testing.assert_allclose(*scores, atol=1e-6)
    few = sum(len(set(a) & set(b)) for a, b in zip(found(index, nprobe=1), found(index, nprobe=1000)))
    assert few < 7 * len(QUERIES)  # so the number of cells makes a difference
    assert len(set(index.groups.tolist())) == len(ALL)


def test_a_part_is_taken_away_with_its_texts_and_nothing_else(attached, model, tmp_path):
    with changing(attached, model) as index:
        index.detach("two")
        index.remove(["n0", "n400"])
        index.add(["bank vote", "film film"], ["new", "newer"])
    index = open_index(attached, model)
    assert index.attached == ["one", "three"]
    kept = [*IDS[1:100], *IDS[350:400], *IDS[401:], "new", "newer"]
    assert sorted(index.ids) == sorted(kept)
    texts = dict(zip([*IDS, "new", "newer"], [*ALL, "bank vote", "film film"]))
    whole = model.index([texts[name] for name in kept], kept, groups=False, centres=open_index(attached, model))
    assert found(index, nprobe=5) == found(whole, nprobe=5)
    assert len(list(attached.glob("0*"))) == 3
    with changing(attached, model) as index:
        index.attach(open_index(tmp_path / "two", model), "again")
    assert sorted(open_index(attached, model).ids) == sorted([*kept, *IDS[100:350]])
    assert index_info(attached).attached == {"one": 99, "three": 576 - 351, "again": 250}
    with pytest.raises(ValueError, match=r"no part 'two'; attached are: 'one', 'three', 'again'"):
        open_index(attached, model).detach("two")


def test_parts_with_other_cells_or_none_are_sorted_anew(start, model, monkeypatch):
    rows = PARTS["two"]
    other = TextIndex.start(model, [ALL[:50]])
    parts = [model.index(ALL[rows], IDS[rows], groups=False, centres=each) for each in (other, None)]
    parts[1].remove([IDS[120]])
    whole = model.index(ALL[rows], IDS[rows], groups=False, centres=open_index(start, model))
    for part in parts:
        index = open_index(start, model)
        index.attach(part, "part")
        if len(part) < len(whole):
            whole.remove([IDS[120]])
        assert found(index, nprobe=2) == found(whole, nprobe=2)


def test_parts_of_a_lexical_index_find_what_one_build_finds(run, tmp_path):
    lexical = twicetold.load(run("tfidf"))
    whole = lexical.index(ALL, IDS, groups=False)
    first, *others = (lexical.index(ALL[rows], IDS[rows], groups=False) for rows in PARTS.values())
    for name, part in zip(("two", "three"), others):
        first.attach(part, name)
    first.save(tmp_path / "index")
    assert found(open_index(tmp_path / "index", lexical)) == found(whole)
    with pytest.raises(ValueError, match="no cells"):
        TextIndex.start(lexical, [ALL])


def test_centres_are_chosen_by_columns_of_texts_and_not_by_the_letters_of_a_text(model):
    made = TextIndex.start(model, [ALL])
    assert TextIndex.start(model, [pa.array(ALL[:300]), pa.array(ALL[300:])]).cells == made.cells
    with pytest.raises(TypeError, match="expected a list of texts, got one text"):
        TextIndex.start(model, ALL)


def test_parts_by_a_model_in_memory_are_put_together_and_not_saved(tmp_path):
    lexical = twicetold.fit(ALL, lexical=True)
    first, second = (lexical.index(ALL[rows], IDS[rows], groups=False) for rows in (PARTS["one"], PARTS["two"]))
    first.attach(second, "two")
    assert found(first) == found(lexical.index(ALL[:350], IDS[:350], groups=False))
    with pytest.raises(FileNotFoundError, match=r"has one if you name it \(folder=\.\.\.\)"):
        first.save(tmp_path / "index")


def test_what_is_no_part_is_refused_and_nothing_changes(start, model, run, tmp_path):
    index = open_index(start, model)
    part = open_index(tmp_path / "one", model)
    index.attach(part, "one")
    grouped = model.index(ALL[:9], [f"g{number}" for number in range(9)], threshold=0.9)
    merged = model.index(ALL[200:203], groups=False)
    merged.merge(0, 1)
    for other, name, message in (
        (merged, "merged", "merges by hand"),
        (part, "one", "a part 'one' already"),
        (part, "two", "the id 'n0', 'n1', 'n10' and 97 others already"),
        (part, "../two", "as a name"),
        (part, "", "as a name"),
        (grouped, "grouped", "--no-groups"),
        (model.index([], groups=False), "empty", "there are none"),
        (twicetold.load(run("tfidf")).index(["a b"], groups=False), "other", "another model"),
    ):
        with pytest.raises(ValueError, match=message):
            index.attach(other, name)
        assert (len(index), index.attached) == (100, ["one"])
    with pytest.raises(ValueError, match="has none"):
        model.index(ALL[:3], groups=False, centres=model.index(ALL[:3], groups=False))
    with pytest.raises(ValueError, match="nprobe"):
        index.search(["bank"], nprobe=0)


@pytest.mark.parametrize("moment", ["write_folder", "write_json"])
def test_a_kill_while_a_part_is_attached_leaves_the_former_index(moment, start, model, monkeypatch):
    with changing(start, model) as index:
        index.attach(open_index(start.parent / "one", model), "one")
    before = found(open_index(start, model))
    index = open_index(start, model)
    index.attach(open_index(start.parent / "two", model), "two")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(folder_module, moment, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        index.save()
    assert found(open_index(start, model)) == before
    with changing(start, model) as index:
        index.attach(open_index(start.parent / "three", model), "three")
    assert open_index(start, model).attached == ["one", "three"]
    assert len(list(start.glob("0*"))) == 2


def cut(name):
    return lambda part: os.truncate(part / "00000001" / name, (part / "00000001" / name).stat().st_size // 2)


def put(name, change):
    def _put(part):
        path = next(part.rglob(name))
        np.save(path, change(np.load(path)), allow_pickle=False)

    return _put


def starts_with(**arrays):
    def _change(part):
        path = part / "00000001" / cells.CELLS
        known = load_file(path)
        save_file({**known, **{name: change(known) for name, change in arrays.items()}}, path)

    return _change


def without_centres(part):
    content = json.loads((part / MANIFEST).read_text())
    (part / MANIFEST).write_text(json.dumps({**content, "centres": None}))


DAMAGES = {
    "short codes": (cut(cells.CODES), "cannot read"),
    "short scales": (cut(cells.SCALES), "cannot read"),
    "other codes": (put(cells.CODES, lambda codes: codes[:, 1:].copy()), "codes"),
    "other scales": (put(cells.SCALES, lambda scales: scales.astype(np.float64)), "scales"),
    "starts": (starts_with(starts=lambda known: known["starts"] + 1), "cells"),
    "falling starts": (starts_with(starts=lambda known: known["starts"][::-1].copy()), "cells"),
    "more": (starts_with(more=lambda known: known["starts"]), "other arrays"),
    "centres": (put("centres-*.npy", lambda centres: centres[1:].copy()), "cells"),
    "wide centres": (put("centres-*.npy", lambda centres: centres.astype(np.float64)), "32-bit"),
    "narrow centres": (put("centres-*.npy", lambda centres: centres[:, 1:].copy()), "as many columns"),
    "no cells": (lambda part: (part / "00000001" / cells.CELLS).unlink(), "there are no cells"),
    "no centres": (without_centres, "cells"),
    "centres elsewhere": (
        lambda part: (part / MANIFEST).write_text((part / MANIFEST).read_text().replace('"centres-', '"../centres-')),
        "file of centres",
    ),
    "recall": (
        lambda part: (part / MANIFEST).write_text((part / MANIFEST).read_text().replace('"asked"', '"told"')),
        "'recall'",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_part_is_refused_with_one_message_that_names_it(damage, start, model):
    change, message = DAMAGES[damage]
    change(part := start.parent / "one")
    with pytest.raises(ValueError, match=message) as refused, changing(start, model) as index:
        index.attach(open_index(part, model), "one")
    assert str(part) in str(refused.value)
    assert open_index(start, model).attached == []


def test_texts_that_are_damaged_are_refused_when_they_are_read(start, model):
    path = start.parent / "two/00000001/texts.parquet"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read the index in .*two"):
        open_index(start.parent / "two", model).search(QUERIES)


def test_an_index_that_grows_gets_cells_and_more_of_them_when_it_is_much_larger(model, tmp_path, monkeypatch):
    monkeypatch.setattr(state, "CELLS_FROM", 60)
    model.index(ALL[:50], IDS[:50], groups=False).save(tmp_path / "index")
    assert index_info(tmp_path / "index").cells == 0
    former = None
    for stop, changes in ((70, True), (100, False), (500, True)):
        with changing(tmp_path / "index", model) as index:
            index.add(ALL[len(index) : stop], IDS[len(index) : stop])
        about = index_info(tmp_path / "index")
        (file,) = tmp_path.glob("index/centres-*.npy")
        assert (file.name != former) == changes
        former = file.name
        assert about.exact == 0
        assert about.recall.found[16] > 0.5
    assert about.recall.texts == 500
    index = open_index(tmp_path / "index", model)
    assert found(index, nprobe=1000) == found(model.index(ALL[:500], IDS[:500], groups=False), nprobe=1000)


def test_recall_is_that_of_the_cells_there_are(model, monkeypatch):
    monkeypatch.setattr(state, "CELLS_FROM", 60)
    index, cells_before, measured = model.index(ALL[:60], groups=False), 0, 0
    for stop in (200, 299, 301, 351):
        cells_before, measured = index.cells, index._manifest.recall.texts
        index.add(ALL[len(index) : stop])
    assert (index.cells > cells_before, measured, index._manifest.recall.texts) == (True, 301, 351)


def test_cells_of_an_earlier_format_are_searched_exactly_until_the_index_grows(model, tmp_path, monkeypatch):
    monkeypatch.setattr(state, "CELLS_FROM", 100)
    model.index(ALL[:200], IDS[:200], groups=False).save(tmp_path / "index")
    expected = found(open_index(tmp_path / "index", model), exact=True)
    path = tmp_path / "index/00000001" / cells.CELLS
    save_file({**load_file(path), "centres": np.zeros((3, 8), np.float32)}, path)
    content = json.loads((tmp_path / "index" / MANIFEST).read_text())
    earlier = {**content, "format": 2, "centres": None}
    (tmp_path / "index" / MANIFEST).write_text(json.dumps({**earlier, "recall": None}))
    assert index_info(tmp_path / "index").exact == 200
    assert found(open_index(tmp_path / "index", model)) == expected
    with changing(tmp_path / "index", model) as index:
        index.add(["bank"], ["new"])
    assert (index_info(tmp_path / "index").exact, index_info(tmp_path / "index").cells > 0) == (0, True)

"""The folder of an index: what it refuses, and that readers and writers do not disturb each other."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import twicetold
from twicetold import layout
from twicetold.index import changing, open_index, segments
from twicetold.index import folder as folder_module
from twicetold.index.folder import LOCK, MANIFEST, locked
from twicetold.trained.vectors_identity import fingerprint

TEXTS = ["bank rate cut", "bank rate cut film", "star award", "drug trial phone", "game vote", "chip phone"]


@pytest.fixture
def saved(run, tmp_path):
    """Makes the folder of an index of a family, with a removed text and two parts."""

    def _saved(family="static"):
        index = twicetold.load(run(family)).index(TEXTS, list("abcdef"))
        index.remove(["c"])
        index.add(["vote award"], ["g"])
        index.save(tmp_path / "index")
        return tmp_path / "index"

    return _saved


def edited(change):
    def _edit(folder):
        content = json.loads((folder / MANIFEST).read_text())
        change(content)
        (folder / MANIFEST).write_text(json.dumps(content))

    return _edit


def cut(name, share=0.5):
    def _cut(folder):
        path = folder / "00000001" / name
        os.truncate(path, int(path.stat().st_size * share))

    return _cut


def put(name, array):
    return lambda folder: np.save(folder / "00000001" / name, array, allow_pickle=False)


def sparse_with(**arrays):
    def _change(folder):
        path = folder / "00000001" / segments.SPARSE
        save_file({**load_file(path), **arrays}, path)

    return _change


def grouped(array):
    def _group(folder):
        put("groups-00000001.npy", array)(folder)
        edited(lambda m: m["parts"][0].update(groups="groups-00000001.npy"))(folder)

    return _group


DAMAGES = {
    "no manifest": ("static", lambda folder: (folder / MANIFEST).write_text("{"), "index.json"),
    "a list": ("static", lambda folder: (folder / MANIFEST).write_text("[]"), "expected an object"),
    "deep": ("static", lambda folder: (folder / MANIFEST).write_text("[" * 100_000), "index.json"),
    "another format": ("static", edited(lambda m: m.update(format=7)), "expected format 6, got 7"),
    "an early format": ("static", edited(lambda m: m.update(format=5)), "build it again .twicetold index build."),
    "a rule": ("static", edited(lambda m: m.update(rule="single")), "as 'rule', got 'single'"),
    "neighbours": ("static", edited(lambda m: m.update(neighbours=0)), "expected 1 to 320 'neighbours', got 0"),
    "a part elsewhere": ("static", edited(lambda m: m["parts"][0].update(name="../../etc")), "eight digits"),
    "no threshold": (
        "static",
        edited(lambda m: m["decision"].pop("threshold")),
        "expected the fields .* in .decision.",
    ),
    "threshold": ("static", edited(lambda m: m["decision"].update(threshold=float("nan"))), "finite number"),
    "fewer texts": ("static", edited(lambda m: m["parts"][0].update(texts=3)), "rows, expected 3"),
    "a group": ("static", edited(lambda m: m.update(next_group=0)), "out of range"),
    "evidence": ("static", edited(lambda m: m.update(evidence=[1])), "a list of sentences as 'evidence'"),
    "no parts": ("static", edited(lambda m: m.pop("parts")), "expected the fields .*parts"),
    "groups elsewhere": (
        "static",
        edited(lambda m: m["parts"][0].update(groups="../groups-00000001.npy")),
        "of groups",
    ),
    "groups of others": ("static", grouped(np.zeros(5, np.int64)), "a number for each of 6 texts"),
    "groups of texts": ("static", grouped(np.full(6, "a")), "a number for each of 6 texts"),
    "a group beyond": ("static", grouped(np.full(6, 99)), "a group in 00000001 is out of range"),
    "a group below": ("static", grouped(np.full(6, -1)), "a group in 00000001 is out of range"),
    "a missing part": ("static", lambda folder: shutil.rmtree(folder / "00000001"), "00000001"),
    "short texts": ("static", cut(segments.TEXTS), "cannot read"),
    "no texts": ("static", cut(segments.TEXTS, 0), "cannot read"),
    "short vectors": ("static", cut(segments.DENSE), "cannot read"),
    "wide numbers": ("static", put(segments.DENSE, np.zeros((6, 8))), "32-bit"),
    "other rows": ("static", put(segments.DENSE, np.zeros((5, 8), np.float32)), "5 vectors, expected 6"),
    "pickles": ("static", lambda folder: _pickled(folder / "00000001" / segments.DENSE), "cannot read"),
    "short sparse": ("tfidf", cut(segments.SPARSE), "cannot read"),
    "columns beyond": ("tfidf", lambda folder: _beyond(folder), "cannot read"),
    "rows beyond": ("tfidf", sparse_with(indptr=np.array([0, 10**6, 3, 4, 5, 6, 7])), "cannot read"),
    "no shape": ("tfidf", sparse_with(shape=np.zeros(1, np.int64)), "no CSR"),
}


def _pickled(path):
    np.save(path, np.array([{}], object), allow_pickle=True)


def _beyond(folder):
    path = folder / "00000001" / segments.SPARSE
    arrays = load_file(path)
    arrays["indices"][0] = 10**6
    save_file(arrays, path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_with_one_message_that_names_it(damage, saved):
    family, change, message = DAMAGES[damage]
    folder = saved(family)
    change(folder)
    with pytest.raises(ValueError, match=message) as refused:
        open_index(folder)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_vectors_that_are_not_numbers_are_refused_by_a_search(saved):
    folder = saved()
    put(segments.DENSE, np.full((6, 8), np.nan, np.float32))(folder)
    with pytest.raises(ValueError, match="not a number"):
        open_index(folder).search(["bank"])


def test_texts_that_are_damaged_are_refused_when_they_are_read(saved):
    path = (folder := saved()) / "00000001/texts.parquet"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"cannot read the index in {folder}"):
        open_index(folder).search(["bank"])


def test_a_folder_without_an_index_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no index in .*nothing: expected index.json there"):
        open_index(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="no index in"), changing(tmp_path / "nothing"):
        pass
    assert not (tmp_path / "nothing").exists()


def test_another_model_is_refused_and_both_are_named(saved, run):
    folder, other = saved("static"), run("tfidf")
    with pytest.raises(ValueError, match="vectors of two models cannot be compared") as refused:
        open_index(folder, other)
    for name in ("questions-static-0", "questions-tfidf-0", fingerprint(other / layout.MODEL)):
        assert name in str(refused.value)


def test_a_moved_model_is_found_where_one_says(saved, run, tmp_path):
    folder = saved("static")
    shutil.move(tmp_path / "questions-static-0", tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=r"needs the model that made it.*--model"):
        open_index(folder)
    assert len(open_index(folder, tmp_path / "elsewhere")) == 6


def test_the_fingerprint_is_of_weights_and_settings_and_not_of_the_threshold(run):
    model = run("static") / layout.MODEL
    before = fingerprint(model)
    decision = json.loads((model / layout.DECISION).read_text())
    (model / layout.DECISION).write_text(json.dumps({**decision, "threshold": 0.1}))
    assert fingerprint(model) == before
    weights = load_file(model / layout.WEIGHTS)
    save_file({name: array + 1 for name, array in weights.items()}, model / layout.WEIGHTS)
    assert fingerprint(model) != before


def test_something_else_is_never_replaced(saved, run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("dear")
    index = open_index(saved())
    for place in (tmp_path / "mine", tmp_path / "mine/letter.txt"):
        with pytest.raises(FileExistsError, match="expected a new folder"):
            index.save(place)
    assert (tmp_path / "mine/letter.txt").read_text() == "dear"


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_all_files_may_be_read_by_whom_the_umask_leaves(family, saved):
    former = os.umask(0o027)
    try:
        places = list(saved(family).rglob("*"))
    finally:
        os.umask(former)
    assert {path.stat().st_mode & 0o777 for path in places if path.is_file()} == {0o640}
    assert {path.stat().st_mode & 0o777 for path in places if path.is_dir()} == {0o750}


def test_a_copy_is_an_index_of_its_own(saved, tmp_path):
    index = open_index(folder := saved())
    index.save(tmp_path / "copy")
    index.remove(["a"])
    index.save()
    assert "a" in open_index(folder).ids
    assert "a" not in open_index(tmp_path / "copy").ids
    assert sorted(index.ids) == sorted(open_index(tmp_path / "copy").ids)


def test_changes_of_another_process_are_never_lost(saved):
    folder = saved()
    one, other = open_index(folder), open_index(folder)
    one.add(["film film"], ["x"])
    one.save()
    other.add(["award award"], ["y"])
    with pytest.raises(OSError, match="another process has changed the index"):
        other.save()
    assert sorted(open_index(folder).ids) == sorted([*"abdefg", "x"])


def test_groups_of_a_save_that_was_cut_off_are_not_read_and_are_deleted(run, tmp_path, monkeypatch):
    texts = ["bank rate", "film star", *(f"story{number}" for number in range(20))]
    twicetold.load(run("tfidf")).index(texts, threshold=0.7, rule="components").save(tmp_path / "index")
    index = open_index(folder := tmp_path / "index")
    former = index.groups.tolist()
    index.add(["bank rate film star"])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(folder_module, "write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        index.save()
    assert len(list(folder.rglob("groups-*.npy"))) == 1
    with changing(folder) as again:
        assert again.groups.tolist() == former
    assert not list(folder.rglob("groups-*.npy"))
    with changing(folder) as again:
        again.remove(["21"])
    with changing(folder) as again:
        assert again.groups.tolist() == former[:-1]
        again.add(["bank rate film star"])
    with changing(folder) as again:
        assert again.groups.tolist()[:3] == [0, 0, 2]
        again.add(["drug trial"])
    assert [path.name for path in folder.rglob("groups-*.npy")] == ["groups-00000004.npy"], "one for each part"


def test_one_process_changes_an_index_at_a_time_and_others_may_read(saved):
    folder = saved()
    said = f"process {os.getpid()} does this already: change the index"
    with locked(folder), pytest.raises(BlockingIOError, match=said), changing(folder):
        pass
    with locked(folder):
        assert len(open_index(folder)) == 6
    with changing(folder) as index:
        index.remove(["a"])
    assert not (folder / LOCK).exists()


def test_an_error_saves_nothing(saved):
    folder = saved()
    with pytest.raises(RuntimeError), changing(folder) as index:
        index.remove(["a"])
        raise RuntimeError
    assert "a" in open_index(folder).ids


CHANGE = """
import sys
import twicetold
from twicetold.index import changing

folder, model = sys.argv[1], twicetold.load(sys.argv[2])
for number in range(25):
    with changing(folder, model) as index:
        index.add(["game vote"], [f"n{number}"])
        if number:
            index.remove([f"n{number - 1}"])
"""


def test_a_reader_never_sees_a_half_changed_index(saved, run):
    """A process changes the index all the time; each state has as many texts as its last id says."""
    folder, place = saved(), run("static")
    model = twicetold.load(place)
    changer = subprocess.Popen([sys.executable, "-c", CHANGE, str(folder), str(place)])
    states = set()
    while changer.poll() is None or not states:
        index = open_index(folder, model)
        new = [name for name in index.ids if name.startswith("n")]
        assert len(new) <= 1
        assert len(index) == 6 + len(new)
        states.add(tuple(new))
    assert changer.returncode == 0
    assert len(states) > 1

"""Folders of indexes from elsewhere: what lies outside them is neither read nor written, and no reading hangs."""

import json
import os
import shutil

import pytest

import twicetold
from twicetold.index import changing, open_index
from twicetold.index.folder import LARGEST, LOCK, MANIFEST
from twicetold.index.info import grouped_texts, index_info
from twicetold.index.segments import DENSE
from twicetold.index.texts import TEXTS

PART = "00000001"
ENTRIES = (
    LOCK,
    MANIFEST,
    PART,
    f"{PART}/{TEXTS}",
    f"{PART}/{DENSE}",
    f"{PART}/groups-00000001.npy",
    "notes",
)
"""Of an index; the last one is of no use to it."""


@pytest.fixture
def index(model, tmp_path):
    """The folder of an index with a part of which a text was removed."""
    texts = ["a cat", "a dog", "the rain", "the town", "a log"]
    made = twicetold.load(model).index(texts, list("abcde"), threshold=0.999)
    made.remove(["c"])
    made.save(tmp_path / "index")
    return tmp_path / "index"


def _change(what):
    def _changed(index):
        with changing(index) as opened:
            what(opened)

    return _changed


USES = {
    "add": _change(lambda opened: opened.add(["a mat"], ["f"])),
    "remove": _change(lambda opened: opened.remove(["a"])),
    "search": lambda index: open_index(index).search(["a cat"]),
    "info": index_info,
    "groups": grouped_texts,
}


def _link(entry, elsewhere):
    """To what was there: it would be read without an error."""
    target = elsewhere / entry.name
    if entry.exists():
        shutil.move(entry, target)
    else:
        target.write_text("years of work")
    entry.symlink_to(target)


def _to_device(entry, elsewhere):
    _remove(entry)
    entry.symlink_to("/dev/zero")


def _pipe(entry, elsewhere):
    _remove(entry)
    os.mkfifo(entry)


def _remove(entry):
    if entry.is_dir():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)


KINDS = {"link": (_link, "a symbolic link"), "device": (_to_device, "a symbolic link"), "pipe": (_pipe, "a pipe")}


def _state(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def elsewhere(tmp_path):
    """A folder of somebody, with files that an index would delete if they were its own."""
    folder = tmp_path / "elsewhere"
    (folder / PART).mkdir(parents=True)
    for name in ("thesis.txt", f"{PART}/groups-00000009.npy", f"{PART}/.tmp-thesis.txt"):
        (folder / name).write_text("years of work")
    return folder


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_whatever_leads_out_of_an_index_is_refused_by_name(index, elsewhere, entry, kind, use):
    if entry == PART and kind == "link":
        shutil.copytree(index / PART, elsewhere / PART, dirs_exist_ok=True)
        shutil.rmtree(index / PART)
        (index / PART).symlink_to(elsewhere / PART)
    else:
        KINDS[kind][0](index / entry, elsewhere)
    before, names = _state(elsewhere), sorted(path.name for path in index.iterdir())
    with pytest.raises(ValueError, match=rf"index in .*: expected regular files .*, {entry} is {KINDS[kind][1]}") as no:
        USES[use](index)
    assert "\n" not in str(no.value)
    assert _state(elsewhere) == before
    assert sorted(path.name for path in index.iterdir()) == names


@pytest.mark.parametrize("use", ["add", "remove"])
def test_a_lock_that_is_a_name_of_another_file_is_refused_and_that_stays(index, elsewhere, use):
    os.link(elsewhere / "thesis.txt", index / LOCK)
    with pytest.raises(ValueError, match="got a file with other names besides"):
        USES[use](index)
    assert (elsewhere / "thesis.txt").read_text() == "years of work"


def test_a_new_index_follows_no_lock_beside_it(model, tmp_path, elsewhere):
    (tmp_path / ".tmp-new.lock").symlink_to(elsewhere / "thesis.txt")
    with pytest.raises(ValueError, match="got a symbolic link"):
        twicetold.load(model).index(["a cat"]).save(tmp_path / "new")
    assert (elsewhere / "thesis.txt").read_text() == "years of work"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("use", USES)
def test_a_manifest_without_end_is_not_read(index, use):
    os.truncate(index / MANIFEST, LARGEST + 1)
    with pytest.raises(ValueError, match=f"expected at most {LARGEST:,} bytes in {MANIFEST}"):
        USES[use](index)


def test_files_with_several_names_are_read(index, tmp_path):
    """As `cp -al` makes them."""
    shutil.copytree(index, tmp_path / "copy", copy_function=os.link)
    with changing(tmp_path / "copy") as opened:
        opened.add(["a mat"], ["f"])
    assert sorted(open_index(index).ids) == list("abde")
    assert sorted(open_index(tmp_path / "copy").ids) == list("abdef")


@pytest.mark.parametrize("place", ["hf://twicetold/quora", "./model", "../model", ""])
def test_an_index_names_a_folder_as_its_model_and_nothing_to_be_fetched(index, place):
    content = json.loads((index / MANIFEST).read_text())
    content["model"]["folder"] = place
    (index / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(ValueError, match="expected the whole path of a folder as the model"):
        open_index(index)

"""Model folders that are damaged, or made to run code, to write, to read or to ask elsewhere."""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from twicetold import layout
from twicetold.trained.model_folder import load_model, load_scorer, trained_on
from twicetold.trained.provenance import pretrained_on_of
from twicetold.trained.threshold_record import read_thresholds
from twicetold_lab import tracking

FILES = (
    layout.RECIPE,
    layout.WEIGHTS,
    layout.FEATURISER_ARRAYS,
    layout.FEATURISER_STATE,
    layout.DECISION,
)
SECRET = "correct horse battery staple"
SIDES = ["the cat sat", "rain on the log"], ["a dog sat", "the town"]


def refused(folder, reason=None, load=load_model):
    """The message with which a folder is refused: a ValueError that names the folder and the reason."""
    with pytest.raises(ValueError, match=reason) as caught:
        load(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


def edit(file, **changes):
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, **changes}))


@pytest.fixture
def still(tmp_path, monkeypatch):
    """Fails if anything is run, asked, written or deleted while a folder is loaded."""
    done = []
    monkeypatch.setattr(subprocess.Popen, "__init__", lambda self, command, *a, **k: done.append(command))
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: done.append(address))
    monkeypatch.setattr(os, "system", lambda command: done.append(command))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "diary.txt").write_text("dear diary")
    yield victim
    assert done == []
    assert [file.name for file in victim.iterdir()] == ["diary.txt"]
    assert (victim / "diary.txt").read_text() == "dear diary"


# code


def test_a_recipe_cannot_make_git_run_the_commands_of_its_own_folder(model):
    """The proof of concept: a part of the recipe that asks git about the folder, whose configuration runs a command."""
    spread(model)
    recipe = {"_target_": "twicetold_lab.tracking._provenance", "root": str(model)}
    edit(model / layout.RECIPE, features=recipe)
    refused(model, r"expected the class of a featuriser .* got 'twicetold_lab\.tracking\._provenance'")
    assert not (model / "ran").exists()


def test_git_is_not_asked_about_the_folder_that_a_command_is_started_in(model, monkeypatch):
    spread(model)
    monkeypatch.chdir(model)
    tags = tracking._provenance()
    assert not (model / "ran").exists()
    assert git_works_in(model), "the trap works where git is asked"
    assert (model / "ran").exists()
    here = Path(__file__).parents[3]
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    assert tags.get("git", "").partition("+")[0] == asked.stdout.strip()


def test_git_does_not_run_the_commands_of_the_repository_it_is_asked_about(model, monkeypatch):
    spread(model)
    monkeypatch.setattr(tracking.repository, "REPOSITORY", model)
    assert "git" in tracking._provenance()
    assert not (model / "ran").exists()


def spread(folder):
    """A repository whose configuration has git run a command."""
    trap = folder / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{folder}/ran'\n")
    trap.chmod(0o755)
    as_somebody = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *as_somebody, *command], cwd=folder, check=True)
    subprocess.run(["git", "config", "core.fsmonitor", str(trap)], cwd=folder, check=True)
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(trap, hooks / "post-index-change")


def git_works_in(folder):
    return subprocess.run(["git", "status"], cwd=folder, capture_output=True, check=False).returncode == 0


FOREIGN = {  # of all names within the package, tests/contracts/test_model_folders.py tries each
    "a private function": {"_target_": "twicetold_lab.tracking._provenance"},
    "an HTTP request": {"_target_": "twicetold_lab.data.transfer.text_at", "url": "http://127.0.0.1:9"},
    "a module's module": {"_target_": "twicetold.trained.model_folder.shutil.rmtree", "path": "VICTIM"},
    "os.system": {"_target_": "os.system", "command": "true"},
    "eval": {"_target_": "builtins.eval", "source": "1"},
    "a class method": {"_target_": "twicetold.features.rows.CsrRows.load", "folder": "VICTIM"},
    "no module": {"_target_": "twicetold.features.nothing.Nothing"},
    "a path": {"_target_": "twicetold.features/../../victim.Diary"},
    "a longer name": {"_target_": "twicetold.features.tokens.Words\n"},
    "no text": {"_target_": ["twicetold.features.tokens.Words"]},
    "nothing": {"_target_": None},
    "no target": {"lower_case": True},
}


def views(featuriser):
    view = {"_target_": "twicetold.features.views.View", "name": "a", "fields": ["text"], "featuriser": featuriser}
    return {"_target_": "twicetold.features.views.Views", "views": [view]}


WORDS = {"_target_": "twicetold.features.tokens.Words"}
STATIC = {"_target_": "twicetold.models.static.Static", "embedding": 4, "init_std": 0.1, "input_dropout": 0.0}
PLACES = {
    "the featuriser": lambda bad: {"features": bad},
    "the encoder": lambda bad: {"encoder": bad},
    "a part of the featuriser": lambda bad: {"features": views(bad)},
    "a setting of the featuriser": lambda bad: {"features": {**WORDS, "vectors": bad}},
    "a list in a list": lambda bad: {"features": {**WORDS, "min_df": [1, [bad]]}},
    "a setting of the encoder": lambda bad: {"encoder": {**STATIC, "init_std": bad}},
}


@pytest.mark.parametrize(("bad", "place"), list(product(FOREIGN, PLACES)))
def test_what_is_neither_featuriser_nor_family_is_not_built(model, still, bad, place):
    settings = json.loads(json.dumps(FOREIGN[bad]).replace("VICTIM", str(still)))
    edit(model / layout.RECIPE, **PLACES[place](settings))
    expected = r"expected the class of a (featuriser|family) in twicetold\.(features|models) as _target_, got "
    refused(model, "unhashable type" if (bad, place) == ("no text", "the encoder") else expected)


@pytest.mark.parametrize("part", ["features", "encoder"])
@pytest.mark.parametrize("setting", ["_partial_", "_args_", "_recursive_", "_mode_", "__class__"])
def test_settings_of_hydra_are_refused(model, still, part, setting):
    before = json.loads((model / layout.RECIPE).read_text())[part]
    edit(model / layout.RECIPE, **{part: {**before, setting: [1]}})
    refused(model, f"got '{setting}', which a recipe cannot have")


# the network


SHAPE = {"architecture": "{}", "unknown": None, "special": [], "begins": 1, "between": [], "weights": "some/body"}
WEIGHTS = {  # file, changes, and why they are refused
    "of an encoder whose features come with none": (
        layout.RECIPE,
        {"encoder": {"_target_": "twicetold.models.minilm.MiniLm", "transformer": SHAPE}},
        "got None|class of a family",
    ),
    "in private state": (layout.FEATURISER_STATE, {"_weights": "some/body"}, "ends in _, got '_weights'"),
    "in all state": (layout.FEATURISER_STATE, {"__dict__": {"_weights": "some/body"}}, "ends in _, got '__dict__'"),
    "in a view's": (layout.FEATURISER_STATE, {"a____dict__": {"_vectors": "some/body"}}, "in _, got 'a____dict__'"),
    "in a method": (layout.FEATURISER_STATE, {"transform": "some/body"}, "attribute, which ends in _, got 'transform'"),
}


@pytest.mark.parametrize("where", WEIGHTS)
def test_nothing_in_a_folder_says_where_to_fetch_weights(model, still, where):
    file, changes, reason = WEIGHTS[where]
    if where == "in a view's":
        edit(model / layout.RECIPE, features=views(WORDS))
    edit(model / file, **changes)
    refused(model, reason)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "timm_wrapper", "architecture": "resnet18"}, "expected a model of type albert"),
        ({"model_type": "llama"}, "expected a model of type albert"),
        ({"model_type": None}, "expected a model of type albert"),
        ({"attn_implementation": "some/kernel"}, "a model without code of its own, got 'attn_implementation'"),
        ({"_attn_implementation": "some/kernel"}, "a model without code of its own, got '_attn_implementation'"),
        ({"_attn_implementation_internal": "some/kernel"}, "without code of its own, got '_attn_impl"),
        ({"auto_map": {"AutoModel": "some/body--modeling.Evil"}}, "without code of its own, got 'auto_map'"),
        ({"quantization_config": {"quant_method": "awq"}}, "without code of its own, got 'quantization_config'"),
    ],
)
def test_the_architecture_of_a_transformer_names_no_code(tiny_bert, still, changes, reason):
    from twicetold import pretrained

    architecture = json.loads((tiny_bert / "config.json").read_text()) | changes
    with pytest.raises(ValueError, match=reason):
        pretrained.build(json.dumps(architecture), None)


# other folders


@pytest.mark.parametrize("name", ["../outside", "..", ".", "", "a/b", "/etc", "static/", "static/../../../outside"])
def test_a_member_does_not_leave_the_folder(ensemble, originals, tmp_path, still, name):
    shutil.copytree(originals["tfidf"], tmp_path / "outside")
    shutil.copytree(originals["tfidf"], ensemble / "outside")
    edit(ensemble / layout.RECIPE, members=["static", name])
    refused(ensemble, "expected a member within the folder, got")


@pytest.mark.parametrize("leads_to", ["outside", "ensemble", "ensemble/members", "ensemble/members/tfidf"])
def test_a_member_that_is_a_link_is_refused(ensemble, originals, tmp_path, still, leads_to):
    shutil.copytree(originals["tfidf"], tmp_path / "outside")
    (ensemble / layout.MEMBER_MODELS / "link").symlink_to(tmp_path / leads_to)
    edit(ensemble / layout.RECIPE, members=["static", "link"])
    refused(ensemble, "members/link is a symbolic link")


LIST = "expected a list of names as members"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        *((each, LIST) for each in (None, 5, "static", {}, ["static", 5], ["static", None], ["static", ["tfidf"]])),
        *((each, "at least two members") for each in ([], ["static"], ["static", "static"])),
    ],
)
def test_members_are_a_list_of_at_least_two_names(ensemble, members, reason):
    edit(ensemble / layout.RECIPE, members=members)
    refused(ensemble, reason)
    if reason == LIST:
        refused(ensemble, reason, load_scorer)


def test_a_damaged_member_is_named(ensemble):
    member = ensemble / layout.MEMBER_MODELS / "tfidf"
    (member / layout.DECISION).write_text("{")
    assert str(member) in refused(ensemble, "decision.json is not JSON")


# damage

JSON_DAMAGE = {
    "empty": "",
    "cut": '{"a": ',
    "no object": "[1, 2]",
    "a number": "1",
    "null": "null",
    "a text": '"recipe"',
    "an empty object": "{}",
    "deep lists": "[" * 100_000,
    "deep objects": '{"a":' * 100_000,
    "deep and closed": "[" * 5000 + "]" * 5000,
    "no UTF-8": "\udcff\udcfe",
    "zeros": "\0" * 100,
    "a huge number": '{"threshold": 1' + "0" * 5000 + "}",
    "a secret": SECRET,
    "a secret text": f'"{SECRET}"',
    "a secret list": f'["{SECRET}"]',
}


@pytest.mark.parametrize("file", [layout.RECIPE, layout.FEATURISER_STATE, layout.DECISION, layout.PRECISION])
@pytest.mark.parametrize("damage", JSON_DAMAGE)
def test_json_that_is_something_else_is_refused_and_not_quoted(model, file, damage):
    (model / file).write_bytes(JSON_DAMAGE[damage].encode(errors="surrogateescape"))
    said = refused(model, load=read_thresholds if file == layout.PRECISION else load_model)
    assert SECRET not in said


@pytest.mark.parametrize(
    "changes",
    [
        {"features": None},
        {"features": []},
        {"encoder": "static"},
        {"as_documents": "yes"},
        {"as_documents": None},
        {"encoder": {**STATIC, "embedding": 5}},
        {"encoder": {**STATIC, "embedding": -1}},
        {"encoder": {**STATIC, "embedding": "4"}},
        {"encoder": {**STATIC, "embedding": 10**9}},
        {"encoder": {**STATIC, "embedding": 10**40}},
        {"encoder": {**STATIC, "unknown": 1}},
        {"encoder": {"_target_": STATIC["_target_"]}},
        {"encoder": {"_target_": "twicetold.models.tfidf.TfIdfCosine"}},
        {"features": WORDS},
        {"features": {"_target_": "twicetold.features.word_hashing.WordHashing", "letters": "three"}},
        {"features": {"_target_": "twicetold.features.views.View", "name": "a", "fields": [], "featuriser": WORDS}},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(model, changes):
    edit(model / layout.RECIPE, **changes)
    refused(model)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("instead", [None, Path.mkdir])
def test_a_file_that_is_missing_or_no_file_is_named(model, file, instead):
    (model / file).unlink()
    if instead:
        instead(model / file)
    if file == layout.RECIPE:
        with pytest.raises(FileNotFoundError, match=f"no trained model in {re.escape(str(model))}"):
            load_model(model)
    else:
        refused(model, f"there is no file {re.escape(file)}")


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_cut_off_is_refused(model, file):
    """At its beginning, around the head of a safetensors file, and at eight places up to one byte before its end."""
    whole = (model / file).read_bytes()
    cuts = {0, 1, 7, 8, 9, len(whole) - 1, *np.linspace(2, len(whole) - 2, 8).astype(int).tolist()}
    for cut in sorted(cut for cut in cuts if cut < len(whole)):
        if whole[:cut].rstrip() == whole.rstrip():  # the last byte of a JSON file ends a line
            continue
        (model / file).write_bytes(whole[:cut])
        refused(model)


@pytest.mark.parametrize("file", FILES)
def test_a_flipped_bit_is_refused_or_changes_a_number(model, file):
    """A number with another value cannot be told from a right one; everything else is refused."""
    whole = (model / file).read_bytes()
    for place in np.random.default_rng(0).integers(0, 8 * len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (model / file).write_bytes(damaged)
        said = None
        try:
            load_model(model).score(*SIDES)
        except ValueError as error:
            said = str(error)
        assert said is None or str(model) in said


@pytest.mark.parametrize("file", FILES)
def test_files_of_another_model_are_refused_or_fit(model, originals, file):
    """A decision fits any model; the rest belongs together."""
    shutil.copy(originals["tfidf"] / file, model / file)
    if file == layout.DECISION:
        assert len(load_model(model).score(*SIDES)) == 2
    else:
        refused(model)


# safetensors


def safetensors(head, data=b""):
    head = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(head)) + head + data


HEADS = {
    "a head of a terabyte": struct.pack("<Q", 1 << 40) + b"{}",
    "a head of 2^64 bytes": b"\xff" * 8 + b"{}",
    "a tensor of terabytes": safetensors({"a": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}),
    "a tensor beyond the file": safetensors({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"1234"),
    "a shape that overflows": safetensors(
        {"a": {"dtype": "F32", "shape": [2**63, 2], "data_offsets": [0, 4]}}, b"1234"
    ),
    "overlapping tensors": safetensors(
        {n: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for n in "ab"}, b"1234"
    ),
    "no such type": safetensors({"a": {"dtype": "object", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
    "a deep head": safetensors(b"[" * 10_000),
    "no JSON": safetensors(b"\x80\x04cos\nsystem\n"),
    "a pickle": b"\x80\x04cposix\nsystem\n(S'touch ran'\ntR.",
    "an archive": b"PK\x03\x04" + bytes(60),
    "an array of objects": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    + bytes(80),
}


@pytest.mark.parametrize("file", [layout.WEIGHTS, layout.FEATURISER_ARRAYS])
@pytest.mark.parametrize("head", HEADS)
def test_tensors_that_are_something_else_are_refused(model, still, file, head):
    (model / file).write_bytes(HEADS[head])
    refused(model)


@pytest.mark.parametrize("damage", ["missing", "further", "wider", "no number"])
def test_other_weights_than_the_recipe_says_are_refused(model, damage):
    weights = load_file(model / layout.WEIGHTS)
    name = next(iter(weights))
    if damage == "missing":
        del weights[name]
    if damage == "further":
        weights["further"] = np.zeros(3, np.float32)
    if damage == "wider":
        weights[name] = np.zeros((3, 3), np.float32)
    if damage == "no number":
        weights[name] = np.full_like(weights[name], np.nan)
    save_file(weights, model / layout.WEIGHTS)
    refused(model, "not a number" if damage == "no number" else "encoder.safetensors: expected .* as the recipe says")


# what else is read of a folder


@pytest.mark.parametrize("data", [None, [], "toy", {}, {"name": "toy"}, {"name": "toy", "train": 5}])
def test_a_recipe_says_what_it_was_trained_on(model, data):
    edit(model / layout.RECIPE, data=data)
    refused(model, "expected '(data|train|name)' in recipe.json to be of type", trained_on)


@pytest.mark.parametrize("sources", [None, "books", {"a": 1}, [1], [["books"]]])
def test_a_recipe_says_what_it_was_pretrained_on(model, sources):
    edit(model / layout.RECIPE, pretrained_on=sources)
    refused(model, "to be a list of texts", pretrained_on_of)

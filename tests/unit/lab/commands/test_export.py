"""`twicetold export`, as a user runs it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

import twicetold as library
from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.guarantee import MeasuredLinks
from twicetold.evaluation.thresholds import DedupeThresholds, GroupingThreshold
from twicetold.files import write_json
from twicetold.neighbours.rules import RULES
from twicetold.trained.fitted import UNTRAINED
from twicetold.trained.model_folder import construct, save_scorer
from twicetold.trained.scoring import Scorer
from twicetold.trained.static_table import SCALES, TABLE, save_table
from twicetold_lab.export.exporting import export_table

TEXTS = ["bank rate cut film story1", "bank rate", "", "zzz", "drug trial phone", "vote game chip story2"]


@pytest.fixture
def processed(questions, tmp_path):
    questions.save(tmp_path / "processed" / questions.name)
    return tmp_path / "processed"


@pytest.mark.parametrize(("numbers", "tolerance"), [("int8", 0.02), ("float16", 1e-3)])
def test_a_small_copy_answers_nearly_as_the_model_does(numbers, tolerance, run, processed, twicetold, tmp_path):
    folder = run("static")
    options = ("-o", "small", "--numbers", numbers, "--processed", processed, "--json")
    done = twicetold("export", folder, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    before, after = (library.load(place) for place in (folder, tmp_path / "small"))
    left, right = [a for a in TEXTS for _ in TEXTS], TEXTS * len(TEXTS)
    np.testing.assert_allclose(after.similarity(left, right), before.similarity(left, right), atol=tolerance)
    np.testing.assert_allclose(after.encode(TEXTS), before.encode(TEXTS), atol=tolerance)
    assert after.decision == before.decision
    assert set(found["on_validation"]) == {"auroc", "accuracy"}
    card = (tmp_path / "small" / "README.md").read_text()
    assert f"stored as {numbers}" in card
    assert "AUROC on validation:" in card


def test_each_number_is_off_by_at_most_half_a_step(run, tmp_path):
    folder = run("static")
    save_table(folder / layout.MODEL, tmp_path / "small", bits="int8")
    weight = library.load(folder).trained.encoder.table
    table, scales = (np.load(tmp_path / "small" / name) for name in (TABLE, SCALES))
    assert table.dtype == np.int8
    np.testing.assert_array_equal(np.abs(table).max(axis=1), 127)
    assert (np.abs(table * scales[:, None] - weight) <= scales[:, None] * 0.5001).all()


def test_a_small_copy_keeps_thresholds_and_what_they_promise(run, tmp_path):
    folder = run("static") / layout.MODEL
    chosen = DedupeThresholds("cluster", 90, 30, False, 0.9, 0.5, 8.0, -4.0, 0.5, (), (), ())
    grouping = tuple(GroupingThreshold(rule, 0.6, 0.5) for rule in RULES)
    promised = (MeasuredLinks(0.7, 200, 40, 0.9, 0.3, 0.8, 0.4, 0.6),)
    write_json(folder / layout.PRECISION, replace(chosen, grouping=grouping, promised=promised).to_json())
    save_table(folder, tmp_path / "small", bits="int8")
    assert library.load(tmp_path / "small").thresholds == library.load(folder).thresholds
    assert library.load(tmp_path / "small").thresholds.promised == promised


def test_the_table_is_not_read_into_memory(run, tmp_path):
    save_table(run("static") / layout.MODEL, tmp_path / "small", bits="int8")
    assert isinstance(library.load(tmp_path / "small").trained.encoder.table, np.memmap)


@pytest.mark.parametrize("trained", ["table", "low_rank", "token_weights"])
def test_pretrained_vectors_have_a_table_whatever_was_trained(trained, tiny_static, tmp_path):
    features = {"_target_": "twicetold.features.static_tokens.StaticTokens", "model": str(tiny_static)}
    features |= {"pretrained_on": "nothing", "weighting": "zipf"}
    encoder = {"_target_": "twicetold.models.pretrained_static.PretrainedStatic", "embedding": 256, "trained": trained}
    encoder |= {"init": "pretrained", "rank": 2, "input_dropout": 0.0}
    featuriser = construct(features, "features").fit([])
    built = instantiate(encoder, **featuriser.shape).eval()
    for parameter in built.parameters():
        parameter.data[1:] += torch.rand_like(parameter[1:])  # the unknown token has no vector
    scorer = Scorer(featuriser, built, Decision(0.5, 4.0, -2.0))
    data = {"name": "none", "train": "0"}
    save_scorer(tmp_path / "model", scorer, features=features, settings=encoder, data=data, training=UNTRAINED)
    save_table(tmp_path / "model", tmp_path / "small", bits="int8")
    before, after = (library.load(tmp_path / name) for name in ("model", "small"))
    assert np.abs(before.encode(TEXTS)).max() > 0
    np.testing.assert_allclose(after.encode(TEXTS), before.encode(TEXTS), atol=0.02)


def test_only_static_families_have_a_table(run, tmp_path):
    with pytest.raises(ValueError, match="expected a model of the family static or pretrained_static"):
        save_table(run("tfidf") / layout.MODEL, tmp_path / "small", bits="int8")
    assert not (tmp_path / "small").exists()


def test_neither_the_model_nor_other_files_are_overwritten(run, tmp_path):
    folder = run("static")
    settings = {"bits": "int8", "processed": tmp_path, "cards": tmp_path}
    for out in (folder, folder / layout.MODEL, folder / layout.MODEL / "small"):
        with pytest.raises(ValueError, match="expected a new folder apart from"):
            export_table(str(folder), out, **settings)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(FileExistsError, match="so it is not replaced"):
        export_table(str(folder), tmp_path / "mine", **settings)
    assert (tmp_path / "mine" / "file").exists()
    library.load(folder)


@pytest.mark.parametrize("others", [{"README.md": "mine"}, {"README.md": "mine", "recipe.json": "{}"}])
def test_a_folder_that_is_no_export_is_kept_though_it_has_a_readme(others, run, tmp_path):
    (tmp_path / "mine").mkdir()
    for name, text in others.items():
        (tmp_path / "mine" / name).write_text(text)
    with pytest.raises(FileExistsError, match="so it is not replaced"):
        export_table(str(run("static")), tmp_path / "mine", bits="int8", processed=tmp_path, cards=tmp_path)
    assert {file.name: file.read_text() for file in (tmp_path / "mine").iterdir()} == others


def test_an_earlier_export_is_replaced_unless_something_was_put_beside_it(run, tmp_path):
    settings = {"processed": tmp_path, "cards": tmp_path}
    export_table(str(run("static")), tmp_path / "small", bits="int8", **settings)
    export_table(str(run("static")), tmp_path / "small", bits="float16", **settings)
    assert not (tmp_path / "small" / SCALES).exists()
    (tmp_path / "small" / ".git").mkdir()
    with pytest.raises(FileExistsError, match=r"holds \.git, so it is not replaced"):
        export_table(str(run("static")), tmp_path / "small", bits="int8", **settings)
    assert (tmp_path / "small" / ".git").is_dir()


def test_an_export_that_is_stopped_leaves_no_folder_and_an_earlier_one_as_it_was(run, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    settings = {"processed": tmp_path, "cards": tmp_path}
    export_table(str(run("static")), tmp_path / "earlier", bits="int8", **settings)
    monkeypatch.setattr("twicetold_lab.export.exporting._measured", stopped)
    for name in ("new", "earlier"):
        with pytest.raises(KeyboardInterrupt):
            export_table(str(run("static")), tmp_path / name, bits="float16", **settings)
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "earlier" / SCALES).is_file()
    assert (tmp_path / "earlier" / "README.md").is_file()


def test_the_data_of_another_training_measure_nothing(run, processed, tmp_path):
    folder = run("static")
    recipe_file = folder / layout.MODEL / layout.RECIPE
    recipe = json.loads(recipe_file.read_text())
    recipe["data"]["train"] = "0" * 64
    write_json(recipe_file, recipe)
    made = export_table(str(folder), tmp_path / "small", bits="int8", processed=processed, cards=tmp_path)
    assert made.on_validation == {}
    assert "was not measured" in (tmp_path / "small" / "README.md").read_text()


@pytest.fixture
def small(run, tmp_path):
    save_table(run("static") / layout.MODEL, tmp_path / "small", bits="int8")
    return tmp_path / "small"


def with_recipe(folder, **changes):
    recipe = json.loads((folder / layout.RECIPE).read_text())
    write_json(folder / layout.RECIPE, {**recipe, **changes})


DAMAGE = {
    "no table": lambda folder: (folder / TABLE).unlink(),
    "cut": lambda folder: (folder / TABLE).write_bytes((folder / TABLE).read_bytes()[:-9]),
    "pickled": lambda folder: np.save(folder / TABLE, np.array([print], object), allow_pickle=True),
    "other shape": lambda folder: np.save(folder / TABLE, np.zeros((3, 8), np.int8)),
    "other numbers": lambda folder: np.save(folder / TABLE, np.load(folder / TABLE).astype(np.float32)),
    "scales not finite": lambda folder: np.save(folder / SCALES, np.full_like(np.load(folder / SCALES), np.nan)),
    "no scales": lambda folder: (folder / SCALES).unlink(),
    "other featuriser": lambda folder: with_recipe(folder, features={"_target_": "os.system"}),
    "unknown bits": lambda folder: with_recipe(folder, table={"bits": "float8"}),
    "no settings": lambda folder: with_recipe(folder, table=None),
    "as_documents": lambda folder: with_recipe(folder, as_documents="yes"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_table_is_refused_with_one_message(damage, small):
    damage(small)
    with pytest.raises(ValueError, match=r"cannot load the table in .*small: "):
        library.load(small)

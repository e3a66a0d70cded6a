"""params.yaml is expanded to rows; what makes no sense is refused in words: place, expectation, what to do."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from hydra import initialize_config_dir

from twicetold_lab.grid.rendering import cell, data_of, for_cell, for_data
from twicetold_lab.grid.rows import check_cell, check_data, expanded, files_of, read_grid, with_files, written

ROOT = Path(__file__).parents[4]
NEWS = {
    "models": ["dae", "tfidf"],
    "seeds": {"dae": [0, 3]},
    "variants": {
        "fair": {"experiment": "fair_story", "models": ["dae"]},
        "first": {"profile": "published", "models": []},
    },
    "ensembles": {"both": {"members": ["dae", "tfidf"], "stacking": "logistic"}},
    "elsewhere": {"others": ["toy_articles", "toy_questions"], "models": ["both"]},
}
PARAMS = {
    "profile": "full",
    "overrides": [],
    "grid": {"toy_news": NEWS, "toy_articles": {"models": []}, "toy_questions": {"models": ["bm25"]}},
}
NOTHING = {"mined": "data/triplets/toy_news", "pretrained": "data/pretrained/none", "mining": None}


def params_with(*keys, value):
    """params.yaml with another value at a place in the block of a dataset; None removes it."""
    params = copy.deepcopy(PARAMS)
    node = params["grid"]["toy_news"]
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    if value is None:
        del node[keys[-1]]
    return params


def test_each_training_ensemble_and_evaluation_gets_a_row_by_its_name():
    grid = expanded(PARAMS)
    dae = {"data": "toy_news", "model": "dae"}
    assert grid["cells"] == {
        "toy_news-dae-0": {**dae, "seed": 0},
        "toy_news-dae-3": {**dae, "seed": 3},
        "toy_news-tfidf-0": {"data": "toy_news", "model": "tfidf", "seed": 0},
        "toy_news-dae_fair-0": {**dae, "overrides": ["+experiment=fair_story"], "seed": 0},
        "toy_questions-bm25-0": {"data": "toy_questions", "model": "bm25", "seed": 0},
    }
    row = {"data": "toy_news", "seed": 0}
    assert grid["ensembles"] == {"toy_news-both-0": {**row, "members": ["dae", "tfidf"], "stacking": "logistic"}}
    assert grid["elsewhere"] == {"toy_news-both-0": {**row, "others": ["toy_articles", "toy_questions"]}}
    assert list(grid["data"]) == list(PARAMS["grid"])


def test_only_models_that_are_named_get_a_matcher_of_pairs_and_all_where_none_is_named():
    grid = expanded(params_with("matched", value=["tfidf", "dae_fair"]))
    without = {key for key, row in grid["cells"].items() if not row.get("matched", True)}
    assert without == {"toy_news-dae-0", "toy_news-dae-3"}
    key = "toy_news-tfidf-0"
    with initialize_config_dir(f"{ROOT / 'conf'}", version_base="1.3"):
        named, other = (cell(key, grid["cells"][key] | own, grid) for own in ({}, {"matched": False}))
    assert named["matched"]["_target_"].endswith(".matched_on_validation")
    assert {name: value for name, value in named.items() if other[name] != value} == {"matched": named["matched"]}
    assert other["matched"] is None


def test_rows_with_their_files_are_written_once_and_read_again(tmp_path):
    way = "data/self_training/toy_news-pseudo_labels-dae-0"
    mining = {"data": "toy_news", "mining": "pseudo_labels", "teacher": "dae", "seed": 0}
    taught = {"mined": way, "pretrained": "data/pretrained/glove", "mining": mining}
    first = expanded(PARAMS)
    grid = with_files(first, {key: taught if key == "toy_news-tfidf-0" else NOTHING for key in first["cells"]})
    assert grid["cells"]["toy_news-tfidf-0"]["mined"] == way
    assert grid["self_training"] == {Path(way).name: mining}
    assert grid["pretrained"] == ["glove", "none"]
    (tmp_path / "conf").mkdir()
    assert written(grid, tmp_path / "conf/cells.yaml")
    assert not written(grid, tmp_path / "conf/cells.yaml")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    assert read_grid(tmp_path) == grid
    with pytest.raises(ValueError, match="the teacher of toy_news-pseudo_labels-dae-0 is no cell: toy_news-dae-7"):
        with_files(first, {key: {**taught, "mining": {**mining, "seed": 7}} for key in first["cells"]})


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["models"], None, " has no models. Expected keys: models, seeds, variants"),
        (["models"], "dae", "models must be a list of names in conf/model/; got 'dae'"),
        (["models"], ["dae", "tfidff"], "there is no model=tfidff: did you mean tfidf? There are: bge_small"),
        (["models"], ["dae", "dae"], "names toy_news-dae-0 twice"),
        (["seed"], [], "there is no key 'seed': did you mean seeds?"),
        (["seeds", "dae"], ["0"], "seeds: dae must be a list of whole numbers; got ['0']"),
        (["seeds", "dea"], [0], "seeds: there is no key 'dea': did you mean dae?"),
        (["seeds"], [0, 1], "seeds must be a mapping, {} if there is nothing; got [0, 1]"),
        (
            ["variants", "fair", "experimnt"],
            "fair",
            "variants: fair: there is no key 'experimnt': did you mean experim",
        ),
        (["variants", "fair", "experiment"], "fairest", "there is no experiment=fairest: did you mean fair"),
        (["variants", "fair", "experiment"], "static_ema", "experiment=static_ema chooses model, which the grid names"),
        (["variants", "fair", "profile"], "smok", "there is no profile=smok: did you mean smoke? There are: ful"),
        (["variants", "fair", "overrides"], "x=2", "overrides must be a list such as [optimizer.lr=0.01]; got"),
        (["variants", "fair", "overrides"], ["+experiment=fair"], "`experiment` is a key of a variant"),
        (["matched"], "dae", "matched must be a list of its models; got 'dae'"),
        (["matched"], ["dea"], "matched: there is no key 'dea': did you mean dae?"),
        (["matched"], [{"dae": 0}], "matched: there is no key {'dae': 0}"),
        (["ensembles", "both", "stackin"], "x", "there is no key 'stackin': did you mean stacking?"),
        (
            ["ensembles", "both", "members"],
            "dae",
            "members must be a list of two to 4 trainings, which is what dvc.yaml",
        ),
        (["ensembles", "both", "members"], ["dae"] * 5, "Make others by hand, with pipelines/ensemble.py"),
        (["ensembles", "both", "members"], ["dae", "bm25"], "has members that are no cells with seed 0: ['bm25']"),
        (["elsewhere", "models"], ["bm25"], "elsewhere: toy_news-bm25-0 is no cell and no ensemble"),
        (
            ["elsewhere", "others"],
            ["toy_articles"],
            "others must be a list of 2 or 3 of ['toy_articles', 'toy_questions",
        ),
        (["elsewhere", "others"], ["toy_news", "toy_articles"], "['toy_articles', 'toy_questions']; got ['toy_news'"),
        (["elsewhere", "others"], "stsb", "others must be a list of 2 or 3"),
    ],
)
def test_names_that_make_no_sense_are_refused(keys, value, message):
    with pytest.raises(ValueError, match=f"^params.yaml: grid: toy_news.*{re.escape(message)}"):
        expanded(params_with(*keys, value=value))


@pytest.mark.parametrize(
    "changed",
    [
        {"cells": {}},
        {"grid": None},
        {"grid": {"toy_news": None}},
        {"grid": {"toy_new": {"models": []}}},
        {"profile": "x"},
    ],
)
def test_sections_that_are_none_are_refused(changed):
    with pytest.raises(ValueError, match=r"^params.yaml"):
        expanded(PARAMS | changed)
    with pytest.raises(ValueError, match=r"^params.yaml has no overrides. Expected keys: profile, overrides, grid"):
        expanded({"profile": "full", "grid": {}})


SET_BY_ROW = {
    "seed=2": "`seeds` names them",
    "++seed=2": "`seeds` names them",
    "name=other": "it is the middle of the row's name",
    "model=dssm": "`models` names them",
    "profile=smoke": "`profile` is a key of params.yaml and of a variant",
    "data=toy_questions": "the grid names its data",
    "data.source.limit=300": "other data are another file in conf/data/",
    "~data.source.limit": "other data are another file in conf/data/",
    "paths.processed=/tmp": "conf/paths.yaml says where folders are",
    "hydra.run.dir=x": "dvc.yaml says how stages run",
}


@pytest.mark.parametrize("override", SET_BY_ROW)
def test_an_override_does_not_set_what_dvc_reads_elsewhere(override):
    words = rf"overrides must not set {re.escape(override)}: .*{re.escape(SET_BY_ROW[override])}"
    with pytest.raises(ValueError, match=f"^params.yaml: grid: toy_news: variants: fair: {words}"):
        expanded(params_with("variants", "fair", "overrides", value=["optimizer.lr=0.1", override]))
    everywhere = PARAMS | {"overrides": [override]}
    if override.lstrip("~").startswith("data."):
        expanded(everywhere)  # the data stages get it as well
    else:
        with pytest.raises(ValueError, match=f"^params.yaml: {words}"):
            expanded(everywhere)


def check(model, *, of_all="full", **changed):
    """Compose a cell and check it, as compose.py does; `of_all` is the profile of the whole grid."""
    row, grid = {"data": "toy_news", "seed": 0, "model": model, **changed}, {"profile": of_all, "overrides": []}
    key = f"toy_news-{model}-0"
    with initialize_config_dir(f"{ROOT / 'conf'}", version_base="1.3"):
        overrides = for_cell(key, row, grid)
        config, data = cell(key, row, grid), data_of(*for_data("toy_news", grid))
        check_cell(key, row, config, data=data, overrides=overrides)
        return files_of(key, row, config)


def test_a_row_may_have_a_profile_and_overrides_that_change_its_training():
    assert check("dae") == NOTHING
    check("dae", of_all="smoke", overrides=["optimizer.lr=0.1", "tracking.enabled=false"])
    check("dae", profile="published")
    check("dae", of_all="smoke", profile="smoke")
    check("dae", of_all="smoke", profile="published")


def test_the_files_of_a_training_are_those_that_its_settings_name():
    files = check("static", overrides=["examples=pseudo_labels", "teacher=dae"])
    assert files["mined"] == "data/self_training/toy_news-pseudo_labels-dae-0"
    assert files["mining"] == {"data": "toy_news", "mining": "pseudo_labels", "teacher": "dae", "seed": 0}
    assert check("glove_mean")["pretrained"] == "data/pretrained/glove"
    own = "data/own/mine.txt"
    assert check("glove_mean", overrides=[f"features.vectors={own}"])["pretrained"] == own


@pytest.mark.parametrize(
    ("model", "changed", "message"),
    [
        ("dae", {"profile": "smoke"}, "profile: smoke changes data.source.limit, and the stages that prepare toy_news"),
        (
            "static",
            {"overrides": ["examples=pseudo_labels", "teacher=dae", "examples.mined=data/other"]},
            "its examples are read from data/other, which no stage makes",
        ),
        (
            "minilm",
            {"overrides": ["features.model=someone/tiny"]},
            "it reads someone/tiny, and DVC would not see when it changes: what is not in conf/pretrained/ must be in",
        ),
        (
            "tfidf",
            {"overrides": ["optimizer.lr=3"]},
            "tfidf is not trained here (objective=none and examples=none), so",
        ),
        ("dae", {"overrides": ["+optimzer.lr=3"]}, "there is no optimzer: did you mean optimizer? There are: "),
    ],
)
def test_a_row_that_reads_what_dvc_does_not_see_or_sets_what_nothing_reads_is_refused(model, changed, message):
    with pytest.raises(ValueError, match=rf"^params.yaml: toy_news-{model}-0: .*{re.escape(message)}"):
        check(model, **changed)


@pytest.mark.parametrize("path", ["mydata/pairs.tsv", "/elsewhere/pairs.tsv", "data/own/../pairs.tsv", "data/owned/a"])
def test_a_file_of_ones_own_that_dvc_does_not_see_is_refused(path):
    with pytest.raises(ValueError, match=rf"^params.yaml: data: mine reads {path}, and DVC would not see when it"):
        check_data("mine", {"data": {"source": {"path": path}}, "paths": {"own": "data/own"}})
    for seen in ("data/own/pairs.tsv", f"{Path.cwd()}/data/own/a/pairs.tsv", None):
        check_data("mine", {"data": {"source": {"path": seen}}, "paths": {"own": "data/own"}})
    check_data("toy_news", {"data": {"source": {}}, "paths": {"own": "data/own"}})

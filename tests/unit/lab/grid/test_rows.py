"""Rows of params.yaml that make no sense are refused in words: the row, what was expected, what to do."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from hydra import initialize_config_dir

from twicetold_lab.grid.rendering import composed, data_of, for_cell, for_data
from twicetold_lab.grid.rows import check_cell, check_data, check_grid

ROOT = Path(__file__).parents[4]
NEWS = {"data": "toy_news", "seed": 0, "mined": "data/triplets/toy_news", "pretrained": "data/pretrained/none"}
LABELLED = "toy_news-pseudo_labels-dae-0"
GRID = {
    "profile": "full",
    "overrides": [],
    "pretrained": ["none", "glove"],
    "data": {name: {**NEWS, "data": name} for name in ("toy_news", "toy_articles", "toy_questions")},
    "cells": {"toy_news-dae-0": {**NEWS, "model": "dae"}, "toy_news-tfidf-0": {**NEWS, "model": "tfidf"}},
    "self_training": {LABELLED: {**NEWS, "mining": "pseudo_labels", "teacher": "dae"}},
    "ensembles": {"toy_news-both-0": {**NEWS, "members": ["dae", "tfidf"]}},
    "elsewhere": {"toy_news-both-0": {**NEWS, "others": ["toy_articles", "toy_questions"]}},
}


def grid_with(section, key, **changed):
    """The grid with a row that has other keys; None removes one."""
    grid = copy.deepcopy(GRID)
    row = {**grid[section].get(key, {}), **changed}
    grid[section][key] = {name: value for name, value in row.items() if value is not None}
    return grid


@pytest.mark.parametrize("file", [ROOT / "params.yaml", ROOT / "conf/demo.yaml"], ids=lambda p: p.stem)
def test_the_rows_that_are_shipped_pass(file):
    check_grid(yaml.safe_load(file.read_text()))
    check_grid(GRID)


@pytest.mark.parametrize(
    ("section", "key", "changed", "message"),
    [
        ("cells", "toy_news-dae-0", {"seeed": 3}, "cells: toy_news-dae-0: there is no key 'seeed': did you mean seed?"),
        ("cells", "toy_news-dae-0", {"mined": None}, "cells: toy_news-dae-0 has no mined. Expected keys: data, model,"),
        ("cells", "toy_news-dae-0", {"seed": "0"}, "cells: toy_news-dae-0: seed must be a whole number; got '0'"),
        (
            "cells",
            "toy_news-dae-1",
            {**NEWS, "model": "dae"},
            "cells: toy_news-dae-1 is not named <data>-<name>-<seed>",
        ),
        ("cells", "toy_news-dae-0", {"data": "toy_new"}, "there is no data=toy_new: did you mean toy_news?"),
        (
            "cells",
            "toy_news-dae-0",
            {"profile": "smok"},
            "there is no profile: smok: did you mean smoke? There are: ful",
        ),
        (
            "cells",
            "toy_news-dae-0",
            {"overrides": "seed=2"},
            "overrides must be a list such as [optimizer.lr=0.01]; got",
        ),
        ("data", "toy_news", {"mine": "x"}, "data: toy_news: there is no key 'mine': did you mean mined?"),
        ("data", "news", NEWS, "data: news is not named <data> after its row"),
        (
            "self_training",
            "toy_news-pseudo-dae-0",
            {**NEWS, "mining": "pseudo_labels", "teacher": "dae"},
            "is not named",
        ),
        ("self_training", LABELLED, {"teacher": "dssm"}, "is not named <data>-<mining>-<teacher>-<seed>"),
        (
            "cells",
            "toy_news-dae-0",
            {"pretrained": "data/pretrained/minilm"},
            "data/pretrained/minilm is no output of a stage: add minilm to `pretrained:` of params.yaml",
        ),
        ("ensembles", "toy_news-both-0", {"stackin": "x"}, "there is no key 'stackin': did you mean stacking?"),
        ("ensembles", "toy_news-both-0", {"members": "dae"}, "members must be a list; got 'dae'"),
        ("elsewhere", "toy_news-bm25-0", {**NEWS, "others": []}, "toy_news-bm25-0 is no cell and no ensemble"),
        ("elsewhere", "toy_news-both-0", {"others": ["toy_articles"]}, "others must be a list of 2 or 3 of ['toy_art"),
        ("elsewhere", "toy_news-both-0", {"others": ["toy_news", "toy_articles"]}, "['toy_articles', 'toy_questions']"),
        ("elsewhere", "toy_news-both-0", {"others": "stsb"}, "others must be a list of 2 or 3"),
    ],
)
def test_a_row_with_other_keys_or_another_name_is_refused(section, key, changed, message):
    with pytest.raises(ValueError, match=f"^params.yaml: .*{re.escape(message)}"):
        check_grid(grid_with(section, key, **changed))


@pytest.mark.parametrize(
    "changed",
    [{"cels": {}}, {"cells": None}, {"cells": {"toy_news-dae-0": None}}, {"data": []}, {"pretrained": "glove"}],
)
def test_sections_that_are_none_are_refused(changed):
    with pytest.raises(ValueError, match=r"^params.yaml"):
        check_grid(GRID | changed)
    with pytest.raises(ValueError, match=r"^params.yaml has no self_training. Expected keys: data, cells"):
        check_grid({name: rows for name, rows in GRID.items() if name != "self_training"})


SET_BY_ROW = {
    "seed=2": "`seed` is a key of the row",
    "++seed=2": "`seed` is a key of the row",
    "name=other": "it is the middle of the row's name",
    "model=dssm": "`model` is a key of the row",
    "profile=smoke": "`profile` is a key of params.yaml and of a row",
    "data=toy_questions": "the key `data` of a row chooses data",
    "data.source.limit=300": "other data are another file in conf/data/",
    "~data.source.limit": "other data are another file in conf/data/",
    "paths.processed=/tmp": "conf/paths.yaml says where folders are",
    "hydra.run.dir=x": "dvc.yaml says how stages run",
}


@pytest.mark.parametrize("override", SET_BY_ROW)
def test_an_override_does_not_set_what_dvc_reads_elsewhere(override):
    words = rf"overrides must not set {re.escape(override)}: .*{re.escape(SET_BY_ROW[override])}"
    with pytest.raises(ValueError, match=f"^params.yaml: cells: toy_news-dae-0: {words}"):
        check_grid(grid_with("cells", "toy_news-dae-0", overrides=["optimizer.lr=0.1", override]))
    everywhere = GRID | {"overrides": [override]}
    if override.lstrip("~").startswith("data."):
        check_grid(everywhere)  # the data stages get it as well
    else:
        with pytest.raises(ValueError, match=f"^params.yaml: {words}"):
            check_grid(everywhere)


def test_a_row_may_choose_an_experiment_that_chooses_neither_data_nor_model():
    check_grid(grid_with("cells", "toy_news-dae-0", overrides=["+experiment=fair_story"]))
    with pytest.raises(ValueError, match="experiment=static_ema chooses model, which is a key of the row"):
        check_grid(grid_with("cells", "toy_news-dae-0", overrides=["+experiment=static_ema"]))
    with pytest.raises(ValueError, match="there is no experiment=fairest: did you mean fair"):
        check_grid(grid_with("cells", "toy_news-dae-0", overrides=["+experiment=fairest"]))


def check(model, *, of_all="full", **changed):
    """Compose a cell and check it, as compose.py does; `of_all` is the profile of the whole grid."""
    row, grid = {**NEWS, "model": model, **changed}, GRID | {"profile": of_all}
    key = f"toy_news-{model}-0"
    check_grid(grid_with("cells", key, **row))
    with initialize_config_dir(f"{ROOT / 'conf'}", version_base="1.3"):
        overrides = for_cell(key, row, grid)
        config, data = composed("train", *overrides), data_of(*for_data("toy_news", grid))
        check_cell(key, row, config, data=data, overrides=overrides)


def test_a_row_may_have_a_profile_and_overrides_that_change_its_training():
    check("dae")
    check("dae", of_all="smoke", overrides=["optimizer.lr=0.1", "tracking.enabled=false"])
    check("dae", profile="published")
    check("dae", of_all="smoke", profile="smoke")
    check("static", mined=f"data/self_training/{LABELLED}", overrides=["examples=pseudo_labels", "teacher=dae"])
    check("glove_mean", pretrained="data/pretrained/glove")
    check("glove_mean", pretrained="data/own/mine.txt", overrides=["features.vectors=data/own/mine.txt"])


@pytest.mark.parametrize(
    ("model", "changed", "message"),
    [
        ("dae", {"profile": "smoke"}, "profile: smoke changes data.source.limit, and the stages that prepare toy_news"),
        (
            "static",
            {"overrides": ["examples=pseudo_labels", "teacher=dae"]},
            f"its examples are read from data/self_training/{LABELLED}, and its row says `mined: data/triplets",
        ),
        ("static", {"mined": f"data/self_training/{LABELLED}"}, "its examples are read from data/triplets/toy_news"),
        ("dae", {"mined": "data/triplets/toy_questions"}, "its examples are read from data/triplets/toy_news"),
        (
            "glove_mean",
            {},
            "it reads data/pretrained/glove/glove.6B.50d.txt, and its row says `pretrained: data/pretrained/none`, "
            "which is what DVC depends on: set `pretrained: data/pretrained/glove`",
        ),
        (
            "minilm",
            {"overrides": ["features.model=someone/tiny"]},
            "it reads someone/tiny, and its row says `pretrained: data/pretrained/none`",
        ),
        (
            "tfidf",
            {"overrides": ["optimizer.lr=3"]},
            "tfidf is not trained here (objective=none and examples=none), so",
        ),
        ("dae", {"overrides": ["+optimzer.lr=3"]}, "there is no optimzer: did you mean optimizer? There are: "),
    ],
)
def test_a_row_that_reads_other_files_than_it_names_or_sets_what_nothing_reads_is_refused(model, changed, message):
    with pytest.raises(ValueError, match=rf"^params.yaml: cells: toy_news-{model}-0: .*{re.escape(message)}"):
        check(model, **changed)


@pytest.mark.parametrize("path", ["mydata/pairs.tsv", "/elsewhere/pairs.tsv", "data/own/../pairs.tsv", "data/owned/a"])
def test_a_file_of_ones_own_that_dvc_does_not_see_is_refused(path):
    with pytest.raises(ValueError, match=rf"^params.yaml: data: mine reads {path}, and DVC would not see when it"):
        check_data("mine", {"data": {"source": {"path": path}}, "paths": {"own": "data/own"}})
    for seen in ("data/own/pairs.tsv", f"{Path.cwd()}/data/own/a/pairs.tsv", None):
        check_data("mine", {"data": {"source": {"path": seen}}, "paths": {"own": "data/own"}})
    check_data("toy_news", {"data": {"source": {}}, "paths": {"own": "data/own"}})

"""Settings of a wrong type and unknown ones are named with their full key, and the shipped ones are all right."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hydra import initialize_config_dir
from omegaconf import OmegaConf

from recipes import RECIPES
from twicetold_lab.grid.recipe import READ_BY
from twicetold_lab.grid.settings import check_added, check_settings, check_used, check_whole, no_such, readable_refusals
from twicetold_lab.grid.study import Sweep
from twicetold_lab.grid.trials import ranges, values_now

ROOT = Path(__file__).parents[4]
TOY = ("data=toy_questions", "profile=smoke")


class Part:
    def __init__(
        self,
        number: float,
        whole: int | None,
        switch: bool,
        text: str,
        choice: Literal["one", "two"],
        numbers: Sequence[int],
        pair: tuple[float, ...],
        table: Mapping[str, str],
        path: str | Path | None,
        anything: Any,
        inner: Callable[[], None] | None = None,
    ) -> None: ...


GOOD = {
    "number": 1,
    "whole": None,
    "switch": False,
    "text": "x",
    "choice": "two",
    "numbers": [1, 2],
    "pair": [0.5, 1],
    "table": {"a": "b"},
    "path": "x/y",
    "anything": "x",
    "inner": {"_target_": f"{__name__}.Part"} | dict.fromkeys(["number"], 1.5),
}


def check(**changed):
    check_settings(OmegaConf.create({"part": {"_target_": f"{__name__}.Part", **GOOD, **changed}}))


def test_values_of_the_types_that_a_part_is_annotated_with_pass():
    check()
    check(number=1e3, whole=3, path=None, anything=[1], inner=None)
    check(number="???", whole="???")  # missing, which Hydra says by itself


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("number", "abc", "a number; got 'abc'"),
        ("number", True, "a number; got True"),
        ("number", None, "a number; got None"),
        ("whole", 1.5, "a whole number or null; got 1.5"),
        ("whole", "3x", "a whole number or null; got '3x'"),
        ("switch", "yes", "true or false; got 'yes'"),
        ("switch", 1, "true or false; got 1"),
        ("text", 3, "a text; got 3"),
        ("choice", "three", "one or two; got 'three'"),
        ("numbers", 3, "a list, each item a whole number; got 3"),
        ("numbers", [1, "x"], "a list, each item a whole number; got [1, 'x']"),
        ("numbers", "12", "a list, each item a whole number; got '12'"),
        ("pair", [1, "x"], "a list, each item a number; got [1, 'x']"),
        ("table", "x", "a mapping; got 'x'"),
        ("path", 3, "a text or a path or null; got 3"),
        ("inner", {"_target_": f"{__name__}.Part", "number": "x"}, "a number; got 'x'"),
    ],
)
def test_a_value_of_another_type_is_named_with_its_key_and_what_was_expected(name, value, expected):
    key = "part.inner.number" if name == "inner" else f"part.{name}"
    with pytest.raises(ValueError, match=f"^{re.escape(f'{key} must be {expected}')}$"):
        check(**{name: value})


def test_a_setting_that_a_part_does_not_have_is_named_with_those_it_has():
    with pytest.raises(ValueError, match=r"^there is no part.nunber: did you mean part.number\? There are: number,"):
        check(nunber=3)


@pytest.mark.parametrize("model", RECIPES)
def test_the_settings_of_every_recipe_pass(composed, model):
    for data in ("toy_questions", "toy_news"):
        check_settings(composed("train", f"data={data}", f"model={model}"), **READ_BY)


@pytest.mark.parametrize("group", ["examples", "objective", "optimizer"])
def test_the_settings_of_every_choice_pass(composed, group):
    for path in (ROOT / "conf" / group).glob("*.yaml"):
        check_settings(composed("train", *TOY, "model=static", f"{group}={path.stem}"), **READ_BY)


def test_the_settings_of_data_stages_searches_and_ensembles_pass(composed):
    for path in (ROOT / "conf/data").glob("*.yaml"):
        check_settings(composed("prepare", f"data={path.stem}"))
    for mining in ("similarities", "pseudo_labels"):
        check_settings(composed("mine_with_model", "data=quora", f"mining={mining}"))
    check_settings(composed("search", *TOY, "model=dae"), **READ_BY)
    with pytest.raises(ValueError, match=r"^pruner.min_resource must be a text or a whole number; got 1.5"):
        check_settings(composed("search", *TOY, "model=dae", "pruner.min_resource=1.5"), **READ_BY)
    check_settings(composed("ensemble", *TOY[:1], "members=[a,b]"), **READ_BY)


@pytest.mark.parametrize(
    "override",
    [
        "+data.source.max_bad_rows=0.05",
        "++seed=3",
        "+encoder.anything=3",  # a part says by itself what it has
        "+evaluator.primary.pairs=auroc",  # within a setting of a part
    ],
)
def test_what_is_added_to_a_part_or_is_there_already_is_not_refused_as_unread(override):
    with initialize_config_dir(f"{ROOT / 'conf'}", version_base="1.3"):
        check_added("train", [*TOY, "model=dae", override])


def test_a_strategy_of_mining_may_be_added():
    with initialize_config_dir(f"{ROOT / 'conf'}", version_base="1.3"):
        check_added(
            "prepare", ["data=toy_news", "+mining.strategies.mine={_target_: twicetold_lab.mining.random.mine}"]
        )
        with pytest.raises(ValueError, match=r"^there is no mining.strategy: did you mean mining.strategies\?"):
            check_added("prepare", ["data=toy_news", "+mining.strategy.mine=3"])


SEARCHED = sorted(path.stem for path in (ROOT / "conf/sweep").glob("*.yaml"))
LEAVES = [path.stem.split("-") for path in (ROOT / "conf/tuned").glob("*.yaml")]
TUNED = sorted((data, model) for data, model in LEAVES if data != "fair")  # of an experiment, not of data


@pytest.mark.parametrize(("data", "model"), sorted({*(("toy_questions", m) for m in SEARCHED), *TUNED}))
def test_a_search_begins_with_the_values_of_now(composed, data, model):
    cfg = composed("search", f"data={data}", f"model={model}")
    space = ranges(Sweep(Path("nowhere"), overrides=[], varies=OmegaConf.to_container(cfg.sweep)))
    found = values_now(cfg, space)
    read = {key: yaml.safe_load(value) if isinstance(value, str) else value for key, value in found.items()}
    assert all(OmegaConf.select(cfg, key) == value for key, value in read.items()), read
    assert set(found) == set(space)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("objective.alpha=abc", "objective.alpha must be a number; got 'abc'"),
        ("optimizer.lr=fast", "optimizer.lr must be a number; got 'fast'"),
        ("encoder.hidden=5.5", "encoder.hidden must be a whole number; got 5.5"),
        ("data.source.limit=few", "data.source.limit must be a whole number or null; got 'few'"),
        ("evaluator.corpus_search.rank=x", "evaluator.corpus_search.rank must be a whole number; got 'x'"),
        ("runtime.workers=x", "runtime.workers must be a whole number; got 'x'"),
        ("tracking.enabled=off", "tracking.enabled must be true or false; got 'off'"),
        ("+objective.alhpa=3", "there is no objective.alhpa: did you mean objective.alpha? There are: alpha, "),
    ],
)
def test_a_wrong_value_of_a_training_is_named_with_its_full_key(composed, override, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check_settings(composed("train", *TOY, "model=dae", override), **READ_BY)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("encoder.filters=x", "encoder.filters must be a whole number; got 'x'"),
        ("+encoder.filtres=3", "there is no encoder.filtres: did you mean encoder.filters?"),
    ],
)
def test_settings_that_a_typed_dict_names_are_checked_like_others(composed, override, message):
    check_settings(composed("train", *TOY, "model=mp_cnn"), **READ_BY)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check_settings(composed("train", *TOY, "model=mp_cnn", override), **READ_BY)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "objective.alhpa=3",
            "there is no objective.alhpa: did you mean objective.alpha? There are: alpha, negatives, ",
        ),
        (
            "evaluator.corpus_search.rnak=3",
            "there is no evaluator.corpus_search.rnak: did you mean evaluator.corpus_se",
        ),
        ("objektive.alpha=3", "there is no objektive: did you mean objective? There are: "),
        ("trainer.zzz=3", "there is no trainer.zzz. There are: epochs, batch_size, "),
        (
            "objective=tripplet",
            "there is no objective=tripplet: did you mean objective=triplet? There are: closest",
        ),
        ("features=tf_idf", "there is no features=tf_idf: did you mean features=tfidf? There are: "),
    ],
)
def test_an_unknown_key_or_choice_is_answered_with_a_close_one_and_those_there_are(composed, override, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"), readable_refusals():
        composed("train", *TOY, "model=dae", override)


def test_what_hydra_says_clearly_by_itself_stays():
    with pytest.raises(Exception, match="Missing mandatory value: path"), readable_refusals():
        OmegaConf.create({"path": "???"}).path  # noqa: B018
    assert no_such("a=b", "b", []) == "there is no a=b. There are: none"


@pytest.mark.parametrize("value", ["x", 0, 1.0, True, None])
def test_a_count_is_a_whole_number_from_1_on(value):
    with pytest.raises(ValueError, match="trials must be a whole number from 1 on; got "):
        check_whole(OmegaConf.create({"trials": value}), "trials")
    check_whole(OmegaConf.create({"trials": 1}), "trials")


@pytest.mark.parametrize(
    ("model", "overrides", "idle"),
    [
        ("tfidf", ["objective=triplet"], "objective=triplet"),
        ("tfidf", ["examples=triplets"], "examples=triplets"),
        ("bm25", ["trainer.epochs=3", "optimizer.lr=0.1"], "trainer.epochs=3 and optimizer.lr=0.1"),
        ("glove_mean", ["teacher=dssm"], "teacher=dssm"),
        ("dae", ["objective=none", "optimizer=adam_by_rows"], "optimizer=adam_by_rows"),
    ],
)
def test_a_choice_that_would_change_nothing_is_refused_with_what_is_read(composed, model, overrides, idle):
    overrides = [*TOY, f"model={model}", *overrides]
    with pytest.raises(ValueError, match=f"^{model} is not trained .*, so {idle} would change nothing: ") as caught:
        check_used(composed("train", *overrides), overrides)
    assert "What it reads: features, " in str(caught.value)


@pytest.mark.parametrize(
    "overrides",
    [
        ["model=tfidf", "features.max_features=3", "evaluator.bins=100", "seed=1"],  # and smoke's epochs
        ["model=minilm", "examples=labelled_pairs", "objective=pair_bce", "trainer.epochs=1"],
        ["model=dae", "objective.alpha=3", "trainer.epochs=1"],
        ["model=dae", "objective=none", "examples=none"],
    ],
)
def test_a_choice_that_is_read_is_not_refused(composed, overrides):
    overrides = [*TOY, *overrides]
    check_used(composed("train", *overrides), overrides)

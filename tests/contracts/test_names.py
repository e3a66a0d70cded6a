"""One name everywhere: recipe, module, config, stage and folder of a family are called the same."""

import re
from pathlib import Path

import pytest
import yaml
from hydra.utils import get_object

from twicetold import layout
from twicetold.identity import LEARNING_KEYS

ROOT = Path(__file__).parents[2]
MODELS = sorted(p.stem for p in (ROOT / "conf/model").glob("*.yaml"))
DATA = sorted(p.stem for p in (ROOT / "conf/data").glob("*.yaml"))
LESSONS = sorted(p.stem for p in (ROOT / "conf/lesson").glob("*.yaml"))
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


def composed_data(composed, name):
    required = {
        "documents": ["data.source.path=x.csv", "data.source.text=t"],
        "pairs": ["data.source.path=x.csv", "data.source.left=a", "data.source.right=b", "data.source.label=y"],
    }
    return required.get(name, [])


@pytest.mark.parametrize("model", MODELS)
def test_a_recipe_its_module_and_its_name_agree(model, composed):
    cfg = composed("train", "data=toy_news", f"model={model}")
    assert cfg.name == model
    assert cfg.encoder._target_.split(".")[:3] == ["twicetold", "models", model]
    assert (ROOT / f"src/twicetold/models/{model}.py").is_file()


@pytest.mark.parametrize("data", DATA)
def test_a_data_leaf_is_called_as_its_file(data, composed):
    assert composed("prepare", f"data={data}", *composed_data(composed, data)).data.name == data


@pytest.mark.parametrize(
    "grid", [ROOT / "params.yaml", *sorted((ROOT / "conf/grid").glob("*.yaml"))], ids=lambda p: p.stem
)
def test_a_grid_names_only_what_there_is(grid):
    chosen = yaml.safe_load(grid.read_text())
    assert set(chosen["data"]) <= set(DATA)
    assert set(chosen["model"]) <= set(MODELS)
    assert set(chosen) - {"variants"} == {"data", "model", "seed", "profile", "overrides", "second_round"}
    second = chosen["second_round"]
    assert set(second) - {"joined", "overrides"} == {"data", "teacher", "model", "examples"}
    assert set(second["data"]) <= set(chosen["data"])
    assert set(second["model"]) <= set(MODELS)
    assert set(second["examples"]) <= set(LESSONS)
    assert second["teacher"] in chosen["model"] if second["examples"] else second["teacher"] is None


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_is_called_as_its_file_and_as_the_examples_that_it_makes(lesson, composed):
    taught = composed("teach", "data=toy_questions", f"lesson={lesson}", "seed=3")
    learnt = composed("train", "data=toy_questions", "model=static", f"examples={lesson}", "seed=3")
    assert taught.lesson.name == lesson
    assert taught.taught == learnt.examples.taught == f"data/second_round/toy_questions-{lesson}-3"
    assert callable(get_object(taught.lesson.strategy._target_))


def test_every_variant_of_the_ablation_composes_to_another_training_and_the_first_is_nothing(composed):
    grid = yaml.safe_load((ROOT / "conf/grid/ablation.yaml").read_text())
    variants = list(grid["variants"].values())
    assert [overrides == [] for overrides in variants] == [True, *[False] * (len(variants) - 1)]
    for model in grid["model"]:
        base = ["train", f"data={grid['data'][0]}", f"model={model}", *grid["overrides"]]
        made = [composed(*base, *overrides) for overrides in variants]
        assert len({f"{cell.regime} {cell.implied}" for cell in made}) == len(variants)


@pytest.mark.parametrize("leaf", sorted((ROOT / "conf/tuned").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_tuned_leaf_belongs_to_a_dataset_and_a_family(leaf):
    assert leaf.stem in {f"{data}-{model}" for data in DATA for model in MODELS}


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_has_a_script_of_its_name_and_depends_on_it(stage):
    script = f"pipelines/{stage.removesuffix('_again')}.py"  # a second round runs the scripts of the first
    assert (ROOT / script).is_file()
    assert f"python {script}" in STAGES[stage]["cmd"]
    assert script in STAGES[stage]["deps"]


def test_the_second_round_is_the_first_but_for_what_was_taught():
    for name, further in {
        "train": {
            "src/twicetold/examples/second_round.py",
            "src/twicetold/mining/pseudo_labels.py",
            "${paths.second_round}/${item.data}-${item.examples}-${item.seed}",
        },
        "evaluate": set(),
    }.items():
        first, again = STAGES[name], STAGES[f"{name}_again"]
        assert set(again["deps"]) == set(first["deps"]) | further
        own = ("desc", "matrix", "deps")
        assert {k: v for k, v in first.items() if k not in own} == {k: v for k, v in again.items() if k not in own}


def test_code_that_a_stage_depends_on_exists():
    for stage in STAGES.values():
        for path in stage["deps"]:
            if path.startswith("src/") and "$" not in path:
                assert (ROOT / path).exists(), path


def test_dvc_tracks_the_learning_keys():
    (tracked,) = STAGES["train"]["params"][0].values()
    assert tuple(tracked) == LEARNING_KEYS


def test_dvc_yaml_uses_the_file_names_of_the_layout():
    evaluate = STAGES["evaluate"]
    outs = [next(iter(o)) if isinstance(o, dict) else o for k in ("metrics", "plots", "outs") for o in evaluate[k]]
    names = {Path(out).name for out in outs}
    curves = {layout.ROC, layout.ROC_FIGURE, layout.PAIRWISE_KNN}
    assert names == {layout.METRICS, layout.INTERVALS, layout.SCORES, layout.SAMPLES, *curves}
    assert STAGES["train"]["outs"] == [f"${{paths.runs}}/${{key}}/{layout.MODEL}"]


def test_dvc_yaml_holds_no_numbers():
    text = (ROOT / "dvc.yaml").read_text()
    assert not re.findall(r"[=: ]\d", text)


def test_params_yaml_holds_names_and_seeds_only():
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert all(isinstance(name, str) for key in ("data", "model", "overrides") for name in params[key])
    assert all(isinstance(seed, int) for seed in params["seed"])

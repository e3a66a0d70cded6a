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
WITH_MODEL = ("hard_negatives", "pseudo_labels")  # strategies of mine_with_model
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
    assert set(chosen) == {"data", "model", "seed", "profile", "overrides", "self_training"}
    students = chosen["self_training"]
    assert set(students) == {"data", "teacher", "model", "mining"}
    assert set(students["data"]) <= set(chosen["data"])
    assert set(students["model"]) <= set(MODELS)
    assert set(students["mining"]) <= set(WITH_MODEL)
    assert students["teacher"] in chosen["model"] if students["mining"] else students["teacher"] is None


@pytest.mark.parametrize("mining", WITH_MODEL)
def test_mining_with_a_model_is_called_as_its_file_and_as_the_examples_that_read_it(mining, composed):
    mined = composed("mine_with_model", "data=toy_questions", f"mining={mining}", "teacher=dae", "seed=3")
    student = composed("train", "data=toy_questions", "model=static", f"examples={mining}", "teacher=dae", "seed=3")
    assert mined.mining.name == mining
    assert mined.run == "runs/toy_questions-dae-3"
    assert mined.mined == student.examples.mined == f"data/self_training/toy_questions-{mining}-dae-3"
    assert callable(get_object(mined.mining.strategy._target_))


@pytest.mark.parametrize("leaf", sorted((ROOT / "conf/tuned").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_tuned_leaf_belongs_to_a_dataset_and_a_family(leaf):
    assert leaf.stem in {f"{data}-{model}" for data in DATA for model in MODELS}


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_has_a_script_of_its_name_and_depends_on_it(stage):
    script = f"pipelines/{stage.removesuffix('_again')}.py"  # students are trained by the same scripts
    assert (ROOT / script).is_file()
    assert f"python {script}" in STAGES[stage]["cmd"]
    assert script in STAGES[stage]["deps"]


def test_the_stages_of_students_are_those_of_others_but_for_what_was_mined():
    for name, more in {
        "train": {
            "src/twicetold/examples/self_training.py",
            "src/twicetold/mining/pseudo_labels.py",
            "${paths.self_training}/${item.data}-${item.mining}-${self_training.teacher}-${item.seed}",
        },
        "evaluate": set(),
    }.items():
        first, again = STAGES[name], STAGES[f"{name}_again"]
        assert set(again["deps"]) == set(first["deps"]) | more
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

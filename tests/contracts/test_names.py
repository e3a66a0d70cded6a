"""One name everywhere: recipe, module, config, stage and folder of a family are called the same."""

import re
from pathlib import Path

import pytest
import yaml
from hydra.utils import get_object
from omegaconf import OmegaConf

from recipes import FAMILIES, NOT_IN_GRID, RECIPES, family_of
from twicetold import layout
from twicetold_lab.data.download import RemoteFile
from twicetold_lab.grid.lock import READS
from twicetold_lab.grid.rows import read_grid
from twicetold_lab.scoring import cost

ROOT = Path(__file__).parents[2]
DATA = sorted(p.stem for p in (ROOT / "conf/data").glob("*.yaml"))
PRETRAINED = sorted(p.stem for p in (ROOT / "conf/pretrained").glob("*.yaml"))
PAIRS_ONLY = ("bimpm", "ldc", "matcher", "minilm_cross", "re2")
WITH_MODEL = ("pseudo_labels", "similarities")  # strategies of mine_with_model
GRID = read_grid(ROOT)
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


def part_of(stage):
    """What a stage is, whether it is one or one for each cell."""
    return STAGES[stage].get("do", STAGES[stage])


@pytest.mark.parametrize("model", FAMILIES)
def test_a_family_its_module_and_its_name_agree(model, composed):
    cfg = composed("train", "data=toy_news", f"model={model}")
    assert cfg.name == model
    assert cfg.encoder._target_.split(".")[:3] == ["twicetold", "models", model]
    assert (ROOT / f"src/twicetold/models/{model}.py").is_file()


@pytest.mark.parametrize("model", sorted({*RECIPES} - {*FAMILIES}))
def test_settings_of_a_family_have_its_encoder_and_a_name_that_begins_as_its_own_or_is_their_vectors(model, composed):
    family = family_of(model)
    own, encoder = (composed("train", "data=toy_news", f"model={name}") for name in (model, family))
    assert own.name == model
    assert own.encoder._target_ == encoder.encoder._target_
    assert model.startswith(f"{family}_") or Path(own.features.model).name == model or own.evaluator.without_labels
    assert family in FAMILIES
    assert not (ROOT / f"src/twicetold/models/{model}.py").exists()


@pytest.mark.parametrize("pretrained", PRETRAINED)
def test_pretrained_files_are_called_as_their_leaf_and_can_be_fetched(pretrained, composed):
    cfg = composed("download_pretrained", f"pretrained={pretrained}")
    assert cfg.pretrained.name == pretrained
    files = [RemoteFile.from_config(about) for about in OmegaConf.to_container(cfg.pretrained.download)]
    assert all((file.urls or file.installed) and (file.sha256 or file.content) for file in files)


def test_every_recipe_has_a_row_in_the_published_grid_or_files_that_were_not_there():
    assert set(RECIPES) - NOT_IN_GRID == {row["model"] for row in GRID["cells"].values()}


def test_no_row_of_the_published_grid_sets_a_value():
    overrides = [override for row in GRID["cells"].values() for override in row.get("overrides", [])]
    assert all(override.startswith("+experiment=") for override in overrides)


@pytest.mark.parametrize("model", RECIPES)
def test_every_family_that_is_not_for_pairs_alone_embeds_texts(model, composed):
    family = get_object(composed("train", "data=toy_news", f"model={model}").encoder._target_)
    needed = ("search_vectors", "score_is_dot_product")  # of models.protocol.Searchable
    there, embeds = [hasattr(family, name) for name in needed], model not in PAIRS_ONLY
    assert there == [embeds] * 2, f"{model}: {' and '.join(needed)} if it embeds texts, else a place in PAIRS_ONLY"


def test_the_published_grid_pairs_families_for_pairs_alone_with_pairs(composed):
    pairs = {name for name in GRID["data"] if composed("prepare", f"data={name}").data.label == "cluster"}
    assert pairs >= {row["data"] for row in GRID["cells"].values() if row["model"] in PAIRS_ONLY}


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
    assert leaf.stem in {f"{data}-{model}" for data in (*DATA, "fair") for model in RECIPES}  # fair: the experiment


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_has_a_script_of_its_name(stage):
    script = f"pipelines/{stage.removesuffix('_ensemble')}.py"
    assert f"python {script}" in part_of(stage)["cmd"]


@pytest.mark.parametrize("stage", sorted(set(STAGES) - {"compose"}))
def test_each_stage_tracks_its_code_as_a_key(stage):
    keys = [key for entry in part_of(stage)["params"] if isinstance(entry, dict) for key in next(iter(entry.values()))]
    kind = stage.removesuffix("_ensemble")
    assert keys == [*([f"settings.{kind}"] if kind in READS else []), f"code.{kind}"]


def test_dvc_yaml_uses_the_file_names_of_the_layout():
    evaluate = part_of("evaluate")
    outs = [next(iter(o)) if isinstance(o, dict) else o for k in ("metrics", "plots", "outs") for o in evaluate[k]]
    assert {Path(out).name for out in outs} == {layout.MODEL, *layout.EVALUATION} - {
        layout.MODEL_CARD
    }  # no stage depends on it
    assert part_of("train")["outs"] == [f"${{paths.runs}}/${{key}}/{layout.TRAINED}"]
    assert part_of("ensemble")["outs"] == [f"${{paths.runs}}/${{key}}/{layout.MODEL}"]


def test_metrics_and_summaries_are_kept_in_git():
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    evaluate = part_of("evaluate")
    for file in (layout.METRICS, layout.SUMMARY):
        assert {f"${{paths.runs}}/${{key}}/{file}": {"cache": False}} in evaluate["metrics"]
        assert f"!/runs/*/{file}" in ignored
    assert {f"${{paths.runs}}/${{key}}/{layout.ELSEWHERE}": {"cache": False}} in part_of("evaluate_elsewhere")[
        "metrics"
    ]
    assert f"!/runs/*/{layout.ELSEWHERE}" in ignored


def test_costs_are_kept_in_git_and_are_no_metrics_so_that_no_machine_takes_those_of_another_from_the_run_cache():
    for stage in ("measure", "measure_ensemble"):
        assert part_of(stage)["outs"] == [{f"${{paths.runs}}/${{key}}/{cost.FILE}": {"cache": False}}]
        assert not {"metrics", "plots"} & set(part_of(stage))
    assert f"!/runs/*/{cost.FILE}" in (ROOT / ".gitignore").read_text().splitlines()


def composed_data(composed, name):
    required = {
        "documents": ["data.source.path=x.csv", "data.source.text=t"],
        "pairs": ["data.source.path=x.csv", "data.source.left=a", "data.source.right=b", "data.source.label=y"],
    }
    return required.get(name, [])


@pytest.mark.parametrize("data", DATA)
def test_a_data_leaf_is_called_as_its_file(data, composed):
    assert composed("prepare", f"data={data}", *composed_data(composed, data)).data.name == data


def test_dvc_yaml_holds_no_numbers():
    text = (ROOT / "dvc.yaml").read_text()
    assert not re.findall(r"[=: ]\d", text)

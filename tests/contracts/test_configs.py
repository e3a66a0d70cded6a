"""Every leaf of conf/ composes and builds."""

import re
from itertools import cycle, product
from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from hydra.utils import get_object
from omegaconf import OmegaConf

from recipes import FAMILIES, RECIPES, targets

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"
PROFILES = sorted(p.stem for p in (CONF / "profile").glob("*.yaml"))
SHARED = ("features", "examples", "objective", "optimizer", "trainer")
GROUPS = {"data", "model", "tuned", "published", *SHARED, "mining", "negatives"}
GROUPS |= {"pretrained", "profile", "sweep", "experiment"}
SAME_TUNED = {"quora": "quora_wang", "quora_disjoint": "quora_wang", "uci_news_time": "uci_news"}


@pytest.mark.parametrize(
    ("model", "profile", "data"),
    [(*each, data) for each, data in zip(product(RECIPES, PROFILES), cycle(("toy_news", "quora", "stsb")))],
)
def test_every_recipe_composes_with_every_profile(model, profile, data, composed):
    cfg = composed("train", f"data={data}", f"model={model}", f"profile={profile}")
    for part in targets(OmegaConf.to_container(cfg)):
        assert callable(get_object(part["_target_"]))


@pytest.mark.parametrize("profile", PROFILES)
def test_data_is_prepared_with_every_profile(profile, composed):
    assert composed("prepare", "data=toy_questions", f"profile={profile}").data.name == "toy_questions"


@pytest.mark.parametrize("leaf", sorted(p for g in SHARED for p in (CONF / g).glob("*.yaml")), ids=lambda p: p.stem)
def test_every_shared_leaf_can_be_chosen_on_the_command_line(leaf, composed):
    composed("train", "data=toy_news", "model=dae", f"{leaf.parent.name}={leaf.stem}")


@pytest.mark.parametrize("leaf", sorted((CONF / "trainer").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_trainer_names_every_setting_so_that_each_can_be_changed_on_the_command_line(leaf):
    assert OmegaConf.load(leaf).keys() == OmegaConf.load(CONF / "trainer" / "default.yaml").keys()


def test_the_published_profile_leaves_tuned_values_out(composed):
    tuned = composed("train", "data=uci_news", "model=dae")
    published = composed("train", "data=uci_news", "model=dae", "profile=published")
    assert published.objective.alpha == 10
    assert published.trainer.epochs == 200
    assert published.trainer.batch_size == 100
    assert tuned.objective.alpha != published.objective.alpha


@pytest.mark.parametrize(("data", "other"), SAME_TUNED.items())
@pytest.mark.parametrize("model", ["dae", "static", "tfidf"])
def test_a_dataset_that_shares_tuned_values_composes_as_the_other_one(data, other, model, composed):
    one, two = (composed("train", f"data={name}", f"model={model}") for name in (data, other))
    assert {**one, "data": None} == {**two, "data": None}


@pytest.mark.parametrize("data", [*SAME_TUNED, *SAME_TUNED.values()])
@pytest.mark.parametrize("chosen", ["tuned=none", "profile=published"])
def test_tuned_values_can_be_left_out_of_every_dataset(data, chosen, composed):
    tuned, left_out = (composed("train", f"data={data}", "model=dae", *more) for more in ([], [chosen]))
    of_no_data = composed("train", "data=mqp", f"data.label={left_out.data.label}", "model=dae")
    assert {**left_out, "data": of_no_data.data} == of_no_data
    assert tuned.objective != left_out.objective


def test_each_job_of_a_sweep_over_data_and_families_has_its_own_tuned_values(composed):
    swept = ["data=quora,quora_disjoint,stsb", "model=dae,dssm"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        of_all = loader.load_configuration("train", swept, RunMode.MULTIRUN)
        jobs = {
            (data, model): loader.load_sweep_config(of_all, [f"data={data}", f"model={model}"])
            for data, model in product(("quora", "quora_disjoint", "stsb"), ("dae", "dssm"))
        }
    for (data, model), job in jobs.items():
        by_hand = composed("train", f"data={data}", f"model={model}")
        assert {key: job[key] for key in by_hand} == by_hand


def test_every_family_that_learns_has_a_search_space_with_a_reason_for_each_key(composed):
    learns = {model for model in FAMILIES if composed("train", "data=toy_news", f"model={model}").objective._target_}
    assert {leaf.stem for leaf in (CONF / "sweep").glob("*.yaml")} == learns
    for model in learns:
        leaf = (CONF / "sweep" / f"{model}.yaml").read_text()
        assert all("} # " in line for line in leaf.splitlines()), f"a word of reason for each key of {model}"


def test_the_siamese_lstm_is_evaluated_at_its_published_threshold_as_well(composed):
    evaluator = composed("train", "data=toy_questions", "model=siamese_lstm").evaluator
    assert evaluator.published_threshold == 0.7
    standard = composed("train", "data=toy_questions", "model=siamese_cnn").evaluator
    assert standard.published_threshold is None
    assert {**evaluator, "published_threshold": None} == standard


def test_leaves_do_not_interpolate_so_that_dvc_can_set_them():
    taken = {  # what they take from elsewhere
        "examples": r"\$\{(data\.label|seed|teacher|data\.name|paths\.\w+)\}",
        "negatives": r"\$\{oc\.select:examples\.group,null\}",
    }
    for group in GROUPS:
        for leaf in (CONF / group).rglob("*.yaml"):
            config = OmegaConf.load(leaf)
            config.pop("defaults", None)
            text = OmegaConf.to_yaml(config)
            assert "${" not in (re.sub(taken[group], "", text) if group in taken else text), leaf


def test_conf_has_these_groups_and_no_more_leaves_than_it_needs():
    assert {folder.name for folder in CONF.iterdir() if folder.is_dir()} == GROUPS
    assert sum(len(list((CONF / group).rglob("*.yaml"))) for group in GROUPS - {"sweep"}) <= 224


def named(leaf: Path, texts: dict[Path, str]) -> bool:
    """Whether a recipe, a primary config, the documentation or a command of it names a leaf."""
    group, *rest = leaf.relative_to(CONF).with_suffix("").parts
    name = re.escape("/".join(rest))
    uses = re.compile(rf"\b{group}(@[\w.]+)?(=|: |/){name}\b|`{name}`")
    return any(uses.search(text) for file, text in texts.items() if file != leaf)


def test_every_shared_leaf_is_named_somewhere():
    files = [*CONF.rglob("*.yaml"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "Makefile"]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    leaves = [leaf for group in (*SHARED, "mining") for leaf in (CONF / group).rglob("*.yaml")]
    assert not [leaf.relative_to(CONF) for leaf in leaves if not named(leaf, texts)]

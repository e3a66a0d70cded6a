"""An ensemble by hand and from a rendered config, and that an evaluation reads the stored decision."""

import json

import pytest
import yaml

QUESTIONS = "toy_questions"
FAMILIES = ("tfidf", "binary_count", "bm25", "static", "dae")
MEMBERS = "members=[tfidf,binary_count]"
RUN = f"runs/{QUESTIONS}-both-0"


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    """The project with two trained baselines on questions."""
    lab = finished.copy(tmp_path_factory.mktemp("ensemble") / "lab")
    chosen = [(f"model={model}", f"hydra.run.dir=runs/{QUESTIONS}-{model}-0") for model in ("tfidf", "binary_count")]
    succeed(lab, *(("train", f"data={QUESTIONS}", "tracking.enabled=false", *choice) for choice in chosen))
    return lab


def succeed(lab, *commands):
    """What commands printed that must succeed."""
    done = lab.scripts(*commands)
    assert not any(code for code, _ in done), done
    return [out for _, out in done]


def decision_of(lab):
    return lab.root / RUN / "model" / "decision.json"


def test_an_ensemble_is_made_and_evaluated_from_a_rendered_config_as_by_hand(lab):
    plain = (f"data={QUESTIONS}", MEMBERS, "name=both", "tracking.enabled=false")
    chosen = (*plain, "stacking=logistic", f"hydra.run.dir={RUN}")
    said, _, config = succeed(
        lab,
        ("ensemble", *chosen),
        ("evaluate", "-cn", "ensemble", *chosen),
        ("ensemble", *chosen[:-1], "--cfg", "job", "--resolve"),
    )
    assert f"the model is in {RUN}/model" in said
    recipe = json.loads((lab.root / RUN / "model/recipe.json").read_text())
    weights = [f"{weight:.3g} {name}" for weight, name in zip(recipe["weights"], recipe["members"])]
    assert f"of {' + '.join(weights)}" in said
    ((code, out),) = lab.scripts(("evaluate", "-cn", "ensemble", *plain, f"hydra.run.dir={RUN}"))
    assert code != 0
    assert "was trained with other stacking than this command has" in out
    by_hand = json.loads((lab.root / RUN / "metrics.json").read_text())
    assert by_hand["test"]["threshold"] == json.loads(decision_of(lab).read_text())["threshold"]

    rendered = lab.root / "build/conf/train" / f"{QUESTIONS}-both-0.yaml"
    rendered.write_text(config)
    from_file = ("-cd", "build/conf/train", "-cn", rendered.stem, "hydra.run.dir=runs/again")
    quiet = ("hydra.output_subdir=null", "hydra/job_logging=stdout", "hydra/hydra_logging=none", "origin=dvc")
    succeed(lab, *((stage, *from_file, *quiet) for stage in ("ensemble", "evaluate")))
    assert json.loads((lab.root / "runs/again/metrics.json").read_text()) == by_hand
    models = (lab.bytes_of(f"{folder}/model") for folder in (RUN, "runs/again"))
    one, other = ({path.split("/model/")[1]: found for path, found in model.items()} for model in models)
    assert one == other


def test_a_member_that_is_not_trained_or_members_that_are_no_list_are_answered(lab):
    answers = {
        "members=[tfidf,dssm]": "member dssm has no trained model in runs/toy_questions-dssm-0/model: train it first",
        "members=tfidf": "members must be a list of families or run folders",
        "members=[tfidf,runs/tfidf]": "members must have different names",
    }
    commands = [("ensemble", f"data={QUESTIONS}", members, "tracking.enabled=false") for members in answers]
    for (code, out), answer in zip(lab.scripts(*commands), answers.values(), strict=True):
        assert code != 0
        assert answer in out
        assert "Traceback" not in out


def test_an_ensemble_of_two_to_four_members_depends_on_each_of_them(lab, stages):
    lab.grid(data=[QUESTIONS], model=FAMILIES)
    params = yaml.safe_load((lab.root / "params.yaml").read_text())
    ensembles = {f"of{count}": {"members": list(FAMILIES[-count:])} for count in (2, 3, 4)}
    ensembles["of4"]["stacking"] = "logistic"
    params["grid"][QUESTIONS]["ensembles"] = ensembles
    lab.rows(params)
    succeed(lab, ("compose", "build/conf"))
    for count, stacking in ((2, "mean"), (4, "logistic")):
        config = yaml.safe_load((lab.root / f"build/conf/train/{QUESTIONS}-of{count}-0.yaml").read_text())
        assert config["stacking"] == stacking
    for count in (2, 3, 4):
        named = stages(lab.run("dvc", "repro", "--dry", "--force", f"ensemble@{QUESTIONS}-of{count}-0"))
        assert {f"train@{QUESTIONS}-{family}-0" for family in FAMILIES[-count:]} == {
            stage for stage in named if stage.startswith("train@")
        }
        assert named[-1] == f"ensemble@{QUESTIONS}-of{count}-0"

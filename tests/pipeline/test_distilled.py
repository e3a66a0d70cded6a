"""Word vectors from a transformer, from the grid to the report, and their mark on all that learns from them."""

import json

import pytest

QUESTIONS = "toy_questions"


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("distilled") / "lab")


@pytest.fixture(scope="module")
def distilled(tiny_bert):
    place = "features.words.distilled"
    return [f"+distilled@{place}=minilm", f"{place}.tokens.model={tiny_bert}", f"{place}.size=8"]


def recipe(lab, run):
    return json.loads((lab.root / "runs" / run / "model" / "recipe.json").read_text())


def test_in_the_grid_a_family_with_them_is_marked(lab, cells, distilled):
    lab.grid(data=[QUESTIONS], model=["cross"], overrides=["tracking=off", "committee=2", *distilled])
    trained = cells("train evaluate", data=[QUESTIONS], model=["cross"])
    assert {"compose", *trained, "report"} == set(lab.ran())
    page = (lab.root / "reports" / "index.html").read_text()
    assert "not clean: cross had been pretrained on over a billion pairs" in page
    assert recipe(lab, f"{QUESTIONS}-cross-0")["pretrained_on"][0].startswith("over a billion pairs")


def test_who_learns_from_it_has_seen_the_same(lab):
    teach = ["python", "pipelines/teach.py", f"data={QUESTIONS}", "lesson=soft_labels"]
    lab.run(*teach, f"run=runs/{QUESTIONS}-cross-0")
    run = ["python", "pipelines/train.py", f"data={QUESTIONS}", "profile=smoke", "tracking=off", "model=static"]
    lab.run(*run, "examples=soft_labels", "hydra.run.dir=runs/taught")
    assert recipe(lab, "taught")["pretrained_on"] == recipe(lab, f"{QUESTIONS}-cross-0")["pretrained_on"]

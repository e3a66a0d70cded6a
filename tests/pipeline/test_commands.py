"""The commands that people give: single cells, experiments, metrics, plots, and what a mistake is answered with."""

import json
from dataclasses import replace

import pytest

NEWS, QUESTIONS = "toy_news", "toy_questions"
TFIDF, DAE = f"{NEWS}-tfidf-0", f"{NEWS}-dae-0"
CELLS = (TFIDF, DAE, f"{QUESTIONS}-tfidf-0", f"{QUESTIONS}-dae-0")


@pytest.fixture(scope="module")
def shared(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("commands") / "lab")


@pytest.fixture
def lab(shared):
    """The finished pipeline, however the test before left it."""
    yield shared
    shared.run("git", "checkout", "--quiet", ".")
    shared.run("dvc", "checkout", "--quiet", "--force")


def test_a_dry_run_in_a_fresh_clone_names_every_stage(lab, tmp_path, stages):
    lab.run("git", "clone", "--quiet", f"{lab.root}", f"{tmp_path / 'clone'}")
    clone = replace(lab, root=tmp_path / "clone")
    named = stages(clone.run("dvc", "repro", "--dry", "--force"))
    per_data = [f"{stage}@{data}" for stage in ("download", "prepare", "mine") for data in (NEWS, QUESTIONS)]
    per_cell = [f"{stage}@{cell}" for stage in ("train", "evaluate", "measure") for cell in CELLS]
    assert sorted(named) == sorted(["compose", "download_pretrained@none", *per_data, *per_cell])
    assert not clone.run("git", "clean", "-ndX", "data")  # data/own is in Git


def test_metrics_show_has_every_cell(lab):
    shown = json.loads(lab.run("dvc", "metrics", "show", "--json"))[""]["data"]
    assert {f"runs/{cell}/{file}.json" for cell in CELLS for file in ("metrics", "summary")} == set(shown)
    for path, found in shown.items():
        if path.endswith("metrics.json"):  # of summary.json, DVC leaves out what is no number
            assert json.loads((lab.root / path).read_text()) == found["data"]


def test_plots_show_draws_the_roc_curve_of_every_cell(lab):
    lab.run("dvc", "plots", "show", "--out", "build/plots")
    page = (lab.root / "build" / "plots" / "index.html").read_text()
    assert all(cell in page for cell in CELLS)
    assert "ROC on test" in page
    assert "false_positive_rate" in page


def test_an_experiment_with_another_value_in_conf_runs_the_cells_that_read_it(lab, cells, stages):
    out = lab.run("dvc", "exp", "run", "-S", f"conf/tuned/{NEWS}-dae.yaml:objective.alpha=77")
    other = cells("train evaluate measure", data=[NEWS], model=["dae"])
    assert {"compose", *other} == set(stages(out))


def test_a_single_cell_can_be_reproduced(lab):
    lab.edit("conf/evaluation.yaml", "neighbours: 10", "neighbours: 5")
    assert lab.ran(f"evaluate@{TFIDF}") == [f"evaluate@{TFIDF}"]
    assert "precision_at_5_story" in (lab.root / "runs" / TFIDF / "metrics.json").read_text()
    assert "precision_at_10_story" in (lab.root / "runs" / DAE / "metrics.json").read_text()


def test_a_bare_run_prints_the_choices_of_what_is_missing(lab):
    bare, data_alone = lab.scripts(("train",), ("train", "data=toy_news"))
    for (code, out), group, names in ((bare, "data", ("toy_news", "quora")), (data_alone, "model", ("dae", "tfidf"))):
        assert code != 0
        assert "Traceback" not in out
        assert f"{group}=<OPTION>" in out
        assert all(name in out for name in names)


def test_composing_wants_a_folder(lab):
    ((code, out),) = lab.scripts(("compose",))
    assert code != 0
    assert "expected one folder to write to" in out

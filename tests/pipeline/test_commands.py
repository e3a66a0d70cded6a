"""The commands that people give: single cells, experiments, metrics, plots, and what a mistake is answered with."""

import json
import time

import pytest

NEWS = "toy_news"
TFIDF, DAE = f"{NEWS}-tfidf-0", f"{NEWS}-dae-0"


@pytest.fixture(scope="module")
def shared(finished, tmp_path_factory):
    lab = finished.copy(tmp_path_factory.mktemp("commands") / "lab")
    lab.grid(data=[NEWS])
    assert lab.ran() == ["compose", "report"]
    lab.commit()
    return lab


@pytest.fixture
def lab(shared):
    """The finished pipeline of two cells, however the test before left it."""
    yield shared
    shared.run("git", "checkout", "--quiet", ".")
    shared.run("dvc", "checkout", "--quiet", "--force")


def test_a_second_repro_does_nothing(lab):
    started = time.perf_counter()
    assert lab.ran() == []
    print(f"dvc repro with nothing to do: {time.perf_counter() - started:.2f} s")


def test_metrics_show_has_every_cell(lab):
    shown = json.loads(lab.run("dvc", "metrics", "show", "--json"))[""]["data"]
    assert {f"runs/{cell}/metrics.json" for cell in (TFIDF, DAE)} == set(shown)
    for path, found in shown.items():
        assert json.loads((lab.root / path).read_text()) == found["data"]


def test_plots_show_draws_the_roc_curve_of_every_cell(lab):
    lab.run("dvc", "plots", "show", "--out", "build/plots")
    page = (lab.root / "build" / "plots" / "index.html").read_text()
    assert all(cell in page for cell in (TFIDF, DAE))
    assert "ROC on test" in page
    assert "false_positive_rate" in page


def test_an_experiment_with_another_seed_runs_the_cells_of_that_seed(lab, cells, stages):
    out = lab.run("dvc", "exp", "run", "-S", "profile=smoke", "-S", "seed=[0,1]", "-S", "model=[tfidf]")
    new = cells("train evaluate", data=[NEWS], model=["tfidf"], seed=[1])
    assert {"compose", *new, "report"} == set(stages(out))


def test_an_experiment_with_another_value_in_conf_runs_the_family_that_reads_it(lab, cells, stages):
    out = lab.run("dvc", "exp", "run", "-S", f"conf/tuned/{NEWS}-dae.yaml:objective.alpha=77")
    assert {"compose", *cells("train evaluate", data=[NEWS], model=["dae"]), "report"} == set(stages(out))


def test_a_value_that_a_tuned_leaf_overrides_changes_nothing(lab, stages):
    out = lab.run("dvc", "exp", "run", "-S", "conf/objective/denoising_triplet.yaml:alpha=77")
    assert stages(out) == ["compose"]


def test_a_single_cell_can_be_reproduced(lab):
    lab.edit("conf/train.yaml", "neighbours: 10", "neighbours: 5")
    assert lab.ran(f"evaluate@{TFIDF}") == ["compose", f"evaluate@{TFIDF}"]
    assert "precision_at_5_story" in (lab.root / "runs" / TFIDF / "metrics.json").read_text()
    assert "precision_at_10_story" in (lab.root / "runs" / DAE / "metrics.json").read_text()


def test_a_misspelt_family_in_params_yaml_is_answered_with_the_choices(lab, stages):
    lab.grid(model=["tfidf", "dea"])
    code, out = lab.attempt("dvc", "repro")
    assert code != 0
    assert stages(out) == ["compose"]
    assert "Traceback" not in out
    assert "dea" in out
    assert all(name in out for name in ("binary_count", "bm25", "dae", "tfidf"))


@pytest.mark.parametrize(
    ("choices", "group", "names"),
    [((), "model", ("dae", "tfidf")), (("model=dae",), "data", ("toy_news", "quora"))],
)
def test_a_bare_run_prints_the_choices_of_what_is_missing(lab, choices, group, names):
    code, out = lab.attempt("python", "pipelines/train.py", *choices)
    assert code != 0
    assert "Traceback" not in out
    assert f"{group}=<OPTION>" in out
    assert all(name in out for name in names)


@pytest.mark.parametrize("stage", ["download", "prepare", "mine", "mine_with_model", "train", "evaluate", "explain"])
def test_every_stage_answers_a_call_for_help(lab, stage):
    out = lab.run("python", f"pipelines/{stage}.py", "--help")
    assert "Override anything in the config" in out


def test_help_is_about_what_was_chosen(lab):
    assert "name: dae" in lab.run("python", "pipelines/train.py", "model=dae", "--help")


def test_composing_wants_a_folder(lab):
    code, out = lab.attempt("python", "pipelines/compose.py", "--help")
    assert code != 0
    assert "expected one folder to write to" in out

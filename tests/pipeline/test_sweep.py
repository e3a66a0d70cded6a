"""Beside a finished pipeline: a sweep, a person's run, and a tracking store that nothing depends on.

The tests share one lab and follow each other.
"""

import re
import shutil

import pytest

CELL = "toy_news-tfidf-0"
OUTPUTS = ("build/conf", "data/processed/toy_news", "data/triplets/toy_news", "runs", "reports")
UP_TO_DATE = "compose:\n\talways changed\n"
VALIDATION = "val/auroc_category"


def outputs(lab):
    unmade = ("observed.json", "README.md")  # which no stage depends on
    return {path: content for path, content in lab.bytes_of(*OUTPUTS).items() if not path.endswith(unmade)}


def of_origin(lab, origin):
    return [run for run in lab.tracked_runs() if run.tags["origin"] == origin]


@pytest.fixture(scope="module")
def lab(finished, store, tmp_path_factory):
    lab = finished.copy(tmp_path_factory.mktemp("sweep") / "lab")
    shutil.copy(store, lab.root / "mlruns")
    return lab


def test_switching_tracking_on_retrains_nothing_and_a_training_of_the_pipeline_is_tracked(lab):
    before = outputs(lab)
    lab.grid(overrides=[])
    assert lab.ran() == []
    assert lab.ran("--force", "--single-item", f"train@{CELL}") == [f"train@{CELL}"]
    (run,) = of_origin(lab, "dvc")
    assert run.tags.items() >= {"data": "toy_news", "model": "tfidf", "seed": "0", "mlflow.runName": "tfidf-0"}.items()
    assert run.params == {"model": "tfidf", "seed": "0"}, "nothing differs from the defaults, and it has no training"
    assert VALIDATION in run.curves
    changed = {path for path, content in outputs(lab).items() if before.get(path) != content}
    assert all(path.startswith("build/conf/train/") for path in changed), "only what was rendered says tracking is on"
    lab.commit()


def test_a_sweep_is_one_parent_with_a_child_per_job_and_leaves_everything_as_it_was(lab):
    before = outputs(lab)
    job = "hydra.experimental.callbacks.LogJobReturnCallback"
    sweep = ("train", "-m", "data=toy_news", "model=dae", "profile=smoke", "objective.alpha=10,100", "trainer.epochs=1")
    ((code, out),) = lab.scripts((*sweep, f"+hydra.callbacks.returned._target_={job}"))
    assert code == 0, out
    assert before == outputs(lab)
    assert lab.run("git", "status", "--porcelain") == ""
    assert lab.run("dvc", "status") == UP_TO_DATE

    runs = of_origin(lab, "sweep")
    (parent,) = (run for run in runs if "sweep" in run.tags)
    children = [run for run in runs if run.tags.get("mlflow.parentRunId") == parent.id]
    assert len(runs) == 3
    assert [run.params["objective.alpha"] for run in children] == ["10", "100"]
    assert all(run.status == "FINISHED" for run in runs)
    values = [run.curves[VALIDATION][-1][1] for run in children]
    assert [float(v) for v in re.findall(r"return value: ([\d.]+)", out)] == pytest.approx(values)
    assert parent.curves["best/auroc_category"][-1][1] == pytest.approx(max(values))
    assert parent.tags["best_run"] == children[values.index(max(values))].id
    assert not [name for run in runs for name in run.curves if name.startswith("test/")], "a sweep never reads test"


def test_a_persons_run_prepares_data_that_was_never_prepared(lab, tmp_path):
    topics = {"sport": "match goal coach team", "money": "bank rate share profit"}
    rows = [
        f"the {word} of day {day},{topic}"
        for day in range(20)
        for topic, words in topics.items()
        for word in words.split()
    ]
    (tmp_path / "news.csv").write_text("headline,topic\n" + "\n".join(rows) + "\n")
    columns = ("data.source.text=headline", "data.source.category=topic")
    before = outputs(lab)
    ((code, out),) = lab.scripts(
        ("train", "data=documents", f"data.source.path={tmp_path / 'news.csv'}", *columns, "model=tfidf")
    )
    assert code == 0, out
    assert "documents tfidf-0: val auroc_category" in out
    (run,) = of_origin(lab, "run")
    assert run.tags["data"] == "documents"
    assert VALIDATION in run.curves
    assert before == outputs(lab)
    assert lab.run("git", "status", "--porcelain") == ""
    assert lab.ran() == []
    assert lab.run("dvc", "status") == UP_TO_DATE


def test_without_the_store_an_evaluation_works_and_makes_its_run_anew(lab):
    before = outputs(lab)
    (former,) = of_origin(lab, "dvc")
    shutil.rmtree(lab.root / "mlruns")
    assert lab.ran("--force", "--single-item", f"evaluate@{CELL}") == [f"evaluate@{CELL}"]
    (run,) = lab.tracked_runs()
    assert run.id != former.id
    assert run.tags["fingerprint"] == former.tags["fingerprint"]
    assert run.params == former.params
    assert "test/auroc_category" in run.curves
    assert before == outputs(lab)
    assert lab.run("dvc", "status") == UP_TO_DATE

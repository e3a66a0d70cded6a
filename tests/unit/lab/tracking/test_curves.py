"""ROC curves as series that MLflow's charts lay over each other."""

import shutil

import numpy as np
import pytest

from twicetold.evaluation.ranking import RocCurve
from twicetold_lab.evaluation.figures import save_roc_csv
from twicetold_lab.tracking import Settings, reopen, start
from twicetold_lab.tracking.curves import STEPS, roc_series
from twicetold_lab.tracking.store import open_store

TAGS = {"data": "quora", "model": "dae", "seed": "0", "fingerprint": "f00d"}


def write(path, *points):
    rows = [f"{label},{x},{y}" for label, x, y in points]
    path.write_text("\n".join(["label,false_positive_rate,true_positive_rate", *rows]) + "\n")
    return path


def test_a_series_goes_through_the_curve_and_begins_at_the_top_of_a_step(tmp_path):
    points = [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 0.75), (1, 1)]
    found = roc_series(write(tmp_path / "roc.csv", *(("test", *point) for point in points)))
    series = dict(found["test"])
    assert (series[0], series[250], series[495], series[500], series[750], series[1000]) == pytest.approx(
        (0.5, 0.625, 0.7475, 0.75, 0.875, 1.0)
    )
    assert len(STEPS) <= 320, "MLflow draws no more points"


def test_all_runs_have_the_steps_that_a_chart_needs_to_lay_curves_over_each_other(tmp_path):
    rng = np.random.default_rng(0)
    for size in (2, 5, 5000):
        fpr, tpr = (np.concatenate([[0.0], np.sort(rng.random(size)), [1.0]]) for _ in range(2))
        curve = RocCurve(fpr, tpr)
        save_roc_csv(tmp_path / "roc.csv", {"test": curve, "train": curve})
        found = roc_series(tmp_path / "roc.csv")
        assert list(found) == ["test", "train"]
        assert all([step for step, _ in series] == list(STEPS) for series in found.values())
        heights = [height for _, height in found["test"]]
        assert heights == sorted(heights)
        assert heights == pytest.approx(np.interp(np.array(STEPS) / 1000, fpr, tpr).tolist(), abs=0.01)


def test_a_file_that_is_no_table_of_curves_is_refused(tmp_path):
    (tmp_path / "roc.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="no column 'false_positive_rate' in"):
        roc_series(tmp_path / "roc.csv")


@pytest.fixture
def settings(migrated, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlruns").mkdir()
    shutil.copy(migrated, tmp_path / "mlruns" / "mlflow.db")
    return Settings(enabled=True, uri=None, root=tmp_path, origin="run")


def test_an_evaluation_that_is_repeated_logs_its_curve_once(settings, tmp_path):
    with start(settings, experiment="quora", name="dae-0", tags=TAGS, params={}) as run:
        pass
    file = write(tmp_path / "roc.csv", ("test", 0, 0.25), ("test", 1, 1))
    for _ in range(2):
        with reopen(settings, experiment="quora", name="dae-0", tags=TAGS, params={}) as again:
            again.log_file(file, "evaluation")
            assert again.tracked
    client = open_store(settings, "quora").client
    curve = client.get_metric_history(run.id, "roc/test")
    assert [(point.step, point.value) for point in curve[:2]] == [(0, 0.25), (1, pytest.approx(0.25075))]
    assert [point.step for point in curve] == list(STEPS)
    assert [file.path for file in client.list_artifacts(run.id, "evaluation")] == ["evaluation/roc.csv"]

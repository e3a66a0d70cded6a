"""What the project claims about real data, from raw files to test metrics."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PIPELINES = Path(__file__).parents[2] / "pipelines"
pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    """Train and evaluate a cell by hand in a folder of its own; its test metrics."""
    folder = tmp_path_factory.mktemp("real")

    def _tested(data: str, model: str, *overrides: str) -> dict[str, float]:
        run = f"runs/{data}-{model}"
        for script in ("train", "evaluate"):
            choices = [f"data={data}", f"model={model}", "tracking.enabled=false", f"hydra.run.dir={run}", *overrides]
            subprocess.run([sys.executable, PIPELINES / f"{script}.py", *choices], cwd=folder, check=True)
        return json.loads((folder / run / "metrics.json").read_text())["test"]

    return _tested


def test_tfidf_on_wangs_partition_scores_what_others_found(tested):
    metrics = tested("quora_wang", "tfidf")
    assert metrics["auroc"] == pytest.approx(0.71, abs=0.01)
    assert metrics["accuracy"] == pytest.approx(0.67, abs=0.01)


def test_the_tuned_autoencoder_finds_categories_that_tfidf_does_not(tested):
    tfidf, dae = tested("uci_news", "tfidf"), tested("uci_news", "dae", "trainer.epochs=4")
    assert dae["auroc_category"] > tfidf["auroc_category"] + 0.15
    assert {"auroc_story", "average_precision_story", "precision_at_10_story", "knn_accuracy_category"} <= set(dae)


def test_grades_are_correlated_with(tested):
    metrics = tested("stsb", "tfidf")
    assert metrics["pearson"] > 0.6
    assert "spearman" in metrics

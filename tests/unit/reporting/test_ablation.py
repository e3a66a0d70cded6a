"""The table of an ablation: every variant in the order of the grid, compared with the first on the same pairs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from twicetold import layout
from twicetold.reporting import Cell
from twicetold.reporting.ablation import ablation

CELLS = [Cell("questions", "static", seed) for seed in (0, 1)]
QUALITY = {"nothing": (0.80, 0.82), "worse": (0.70, 0.76)}


@pytest.fixture
def variants(project):
    """Folder of the runs of two variants, two seeds each."""
    scores = np.random.default_rng(0).normal(size=400)
    label = (scores + np.random.default_rng(1).normal(size=400) > 0).astype(float)
    for variant, found in QUALITY.items():
        for cell, auroc in zip(CELLS, found):
            metrics = {"auroc": auroc, "accuracy": auroc - 0.1}
            folder = project.add_run(cell, metrics, val={n: v + 0.01 for n, v in metrics.items()}, primary="auroc")
            noise = np.random.default_rng(2).normal(size=400) * (variant == "worse")
            columns = {"split": ["test"] * 400, "label": label, "score": scores + noise}
            pq.write_table(pa.table(columns), folder / layout.SCORES)
        (project.root / "variants").mkdir(exist_ok=True)
        (project.root / "runs").rename(project.root / "variants" / variant)
    return project.root / "variants"


def rows_of(text):
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [dict(zip(table[0], row)) for row in table[2:]]


def test_variants_come_in_the_order_of_the_grid_with_means_over_seeds(variants):
    text = ablation(CELLS, ["nothing", "worse"], runs=variants)
    first, second = rows_of(text)
    assert text.startswith("### questions, static\n")
    assert [first[""], second[""]] == ["nothing", "worse"]
    assert first["AUROC, validation"] == "0.820 ± 0.014"
    assert second["AUROC, test"] == "0.730 ± 0.042"
    assert second["Accuracy, test"] == "0.630 ± 0.042"
    assert [row[""] for row in rows_of(ablation(CELLS, ["worse", "nothing"], runs=variants))] == ["worse", "nothing"]


def test_the_difference_is_taken_seed_by_seed_and_its_interval_on_the_same_pairs(variants):
    first, second = rows_of(ablation(CELLS, ["nothing", "worse"], runs=variants))
    difference = "AUROC, test, against the first"
    assert first[difference] == ""
    assert second[difference].startswith("-0.0800 ± 0.0283 (")
    low, high = map(float, second[difference].split("(")[1].rstrip(")").split(" to "))
    tables = [pq.read_table(variants / v / CELLS[0].name / layout.SCORES) for v in QUALITY]
    before, after = (roc_auc_score(t["label"], t["score"]) for t in tables)
    assert low < after - before < high < 0


def test_variants_that_were_scored_on_other_pairs_are_an_error(variants):
    file = variants / "worse" / CELLS[0].name / layout.SCORES
    pq.write_table(pq.read_table(file).slice(1), file)
    with pytest.raises(ValueError, match="scored on different test pairs"):
        ablation(CELLS, ["nothing", "worse"], runs=variants)


def test_documents_are_compared_without_an_interval_of_the_difference(variants):
    for path in variants.glob("*/*"):
        (path / layout.SCORES).unlink()
        training = path / layout.MODEL / layout.TRAINING
        training.write_text(json.dumps(json.loads(training.read_text()) | {"metric": "auroc"}))
    assert (
        rows_of(ablation(CELLS, list(QUALITY), runs=variants))[1]["AUROC, test, against the first"]
        == "-0.0800 ± 0.0283"
    )

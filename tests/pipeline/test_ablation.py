"""`tools/ablation.py` makes a grid once per variant and puts what came out into one table."""

import shutil
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
VARIANTS = {"nothing": [], "augmented": ["regime=augment"]}


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    lab = finished.copy(tmp_path_factory.mktemp("ablation") / "lab")
    shutil.copytree(PROJECT / "tools", lab.root / "tools")
    grid = yaml.safe_load((lab.root / "params.yaml").read_text()) | {"data": ["toy_questions"], "model": ["dae"]}
    (lab.root / "conf" / "grid" / "two.yaml").write_text(yaml.safe_dump(grid | {"variants": VARIANTS}, sort_keys=False))
    return lab


def test_every_variant_is_a_row_and_what_is_there_does_not_run_again(lab, stages):
    out = lab.run("python", "tools/ablation.py", "--grid", "two")
    cell = "toy_questions-dae-0"
    assert stages(out)[:2] == ["compose", "report"], "the variant without overrides is in the shared cache"
    assert stages(out)[2:] == ["compose", f"train@{cell}", f"evaluate@{cell}", "report"]
    table = (lab.root / "build" / "two" / "ABLATION.md").read_text()
    assert table in out
    assert [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")][2:] == list(VARIANTS)
    again = lab.run("python", "tools/ablation.py", "--grid", "two")
    assert table in again
    assert not [stage for stage in stages(again) if stage.startswith(("train", "evaluate"))]


def test_a_grid_without_variants_is_an_error_that_shows_one(lab):
    code, out = lab.attempt("python", "tools/ablation.py", "--grid", "demo")
    assert code != 0
    assert "conf/grid/ablation.yaml" in out
    assert "Traceback" not in out

"""`tools/grid` reproduces a named grid beside that of params.yaml and leaves the checkout as it was."""

import shutil
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    lab = finished.copy(tmp_path_factory.mktemp("grid") / "lab")
    shutil.copytree(PROJECT / "tools", lab.root / "tools")
    one = yaml.safe_load((lab.root / "params.yaml").read_text()) | {"data": ["toy_questions"], "model": ["tfidf"]}
    (lab.root / "conf" / "grid" / "one.yaml").write_text(yaml.safe_dump(one))
    lab.commit()
    return lab


def test_a_named_grid_prints_its_leaderboard_and_leaves_git_clean(lab, stages):
    out = lab.run("tools/grid", "one")
    assert stages(out) == ["compose", "report"], "everything else is in the shared cache"
    leaderboard = out[out.rindex("Running stage") :]
    assert "toy_questions" in leaderboard
    assert "tfidf" in leaderboard
    assert "dae" not in leaderboard
    assert (lab.root / "build" / "one" / "reports" / "index.html").is_file()
    assert lab.run("git", "status", "--porcelain") == ""


def test_a_named_grid_does_nothing_twice(lab, stages):
    lab.run("tools/grid", "one")
    assert stages(lab.run("tools/grid", "one")) == []


def test_an_unknown_grid_is_answered_with_those_there_are(lab):
    code, out = lab.attempt("tools/grid", "two")
    assert code != 0
    assert all(name in out for name in ("two", "demo", "one", "results"))

"""`tools/run_grid.py` runs stages side by side and leaves to DVC what is stale; `tools/demo` does so in build/demo."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
RUN = ("python", "tools/run_grid.py", "--jobs", "2")
QUESTIONS = "toy_questions"


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    lab = finished.copy(tmp_path_factory.mktemp("grid") / "lab")
    shutil.copytree(PROJECT / "tools", lab.root / "tools")
    one = yaml.safe_load((lab.root / "params.yaml").read_text()) | {"grid": {QUESTIONS: {"models": ["tfidf"]}}}
    (lab.root / "conf" / "demo.yaml").write_text(yaml.safe_dump(one))
    lab.commit()
    return lab


def test_the_demo_prints_its_leaderboard_and_groups_and_leaves_git_clean(lab):
    out = lab.run("tools/demo", "--jobs", "2")
    assert f"train@{QUESTIONS}" not in out, "it is in the shared cache"
    assert "tfidf" in out
    assert "dae" not in out
    assert f"grouped by {QUESTIONS}-tfidf-0, the best on validation" in out
    assert (lab.root / "build" / "demo" / "reports" / "index.html").is_file()
    assert lab.run("git", "status", "--porcelain") == ""


def test_a_failed_cell_leaves_the_others_and_is_named(lab):
    lab.grid(data=[QUESTIONS], model=["tfidf"], seed=[0, 2], broken="tfidf")
    code, out = lab.attempt(*RUN, "--record")
    assert code == 1
    assert f"failed: train@{QUESTIONS}-tfidf_broken-0" in out
    assert (
        "features.max_df must be a number"
        in (lab.root / f"build/logs/train@{QUESTIONS}-tfidf_broken-0.log").read_text()
    )
    assert (
        f"not run, as they need what failed: evaluate@{QUESTIONS}-tfidf_broken-0, measure@{QUESTIONS}-tfidf_broken-0\n"
        in out
    )
    assert (lab.root / f"runs/{QUESTIONS}-tfidf-2/metrics.json").is_file()
    took = json.loads((lab.root / "runs" / "last_run.json").read_text())["stages"]
    assert {f"{stage}@{QUESTIONS}-tfidf-2" for stage in ("train", "evaluate", "measure")} == set(took)


def test_once_it_is_mended_only_what_was_missing_runs_and_dvc_finds_nothing_more_to_do(lab):
    lab.grid(broken="tfidf", fault="0.9")
    out = lab.run(*RUN)
    estimate = out.splitlines()[0]
    assert "stages to check or run, 2 at a time on" in estimate
    assert estimate.endswith(" or less")
    assert all(f"{name}@{QUESTIONS}-tfidf_broken-0 " in out for name in ("train", "evaluate"))
    assert f"train@{QUESTIONS}-tfidf-2 " not in out
    assert "0 failed" in out
    assert lab.ran() == []
    assert "0 stages ran" in lab.run(*RUN)


def test_a_part_of_the_grid_runs_with_what_it_needs_and_nothing_else(lab):
    lab.grid(data=[QUESTIONS], model=["tfidf"], seed=[0, 5, 6])
    out = lab.run(*RUN, "evaluate@*-5")
    assert f"train@{QUESTIONS}-tfidf-5 " in out
    assert f"{QUESTIONS}-tfidf-6" not in out
    assert not (lab.root / f"runs/{QUESTIONS}-tfidf-6").exists()
    code, out = lab.attempt(*RUN, f"evaluate@{QUESTIONS}-tfidf-7")
    assert code == 1
    assert "error: there is no stage" in out
    assert "did you mean evaluate@" in out


def test_a_row_that_does_not_compose_is_an_error_that_says_so(lab):
    lab.grid(model=["tfidf", "dea"])
    code, out = lab.attempt(*RUN)
    assert code != 0
    assert "Traceback" not in out
    assert "dea" in out
    assert "binary_count" in out, "the families that there are"


def test_a_run_that_is_stopped_records_the_seconds_of_what_it_finished(lab):
    lab.grid(data=[QUESTIONS], model=["tfidf"], seed=[3, 4])
    (lab.root / "runs" / "last_run.json").unlink()
    process = lab.start(*RUN, "--jobs", "1", "--record")
    for line in process.stdout:
        if f"train@{QUESTIONS}-tfidf-" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 1
    assert out.splitlines()[-1].startswith("stopped. What is finished is kept")
    took = json.loads((lab.root / "runs" / "last_run.json").read_text())["stages"]
    assert [name for name in took if name.startswith("train@")] == [line.split()[2]]

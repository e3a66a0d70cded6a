"""`pipelines/fan_out.py` runs cells as jobs of a launcher of Hydra; `dvc repro` restores what they made.

But for the last test, the stages are stand-ins that write small files: what is tested is what travels, and how.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from lab import Lab, copy_project

FAN_OUT = ("python", "pipelines/fan_out.py", "-m")
DATA = "toy_questions"
BROKEN = f"{DATA}-tfidf-9"
STAND_IN = """
import json, os, sys, time
from pathlib import Path

stage, key = Path(sys.argv[0]).stem, sys.argv[sys.argv.index("-cn") + 1] if "-cn" in sys.argv else ""
ran = Path("build/checkpoints/ran")
ran.parent.mkdir(parents=True, exist_ok=True)
with ran.open("a") as lines:
    print(stage, key, os.environ.get("OMP_NUM_THREADS"), os.environ.get("MLFLOW_TRACKING_URI"), file=lines)
while stage == "train" and ran.with_name("wait").exists():
    time.sleep(0.1)
if key.endswith("-9"):
    sys.exit("error: cannot be trained")
results = "metrics.json summary.json roc.csv roc.svg scores.parquet README.md".split()
results.append("model/encoder.safetensors")
for out in {
    "download": [f"data/raw/{key}/raw.csv"],
    "download_pretrained": [f"data/pretrained/{key}/manifest.json"],
    "prepare": [f"data/processed/{key}/texts.parquet"],
    "mine": [f"data/triplets/{key}/triplets.parquet"],
    "train": [f"runs/{key}/trained/encoder.safetensors", f"runs/{key}/observed.json"],
    "evaluate": [f"runs/{key}/{name}" for name in results],
    "measure": [f"runs/{key}/cost.json"],
}[stage]:
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps({"stage": stage, "key": key}))
"""


def cells_of(*seeds):
    return [f"{DATA}-tfidf-{seed}" for seed in seeds]


def evaluations(cells):
    return [f"evaluate@{cell}" for cell in cells]


def ran(lab):
    """What ran in any clone or at home: the folder of checkpoints is shared."""
    lines = (lab.root / "build/checkpoints/ran").read_text().splitlines()
    return [line for line in lines if line.startswith(("train", "evaluate"))]


def scratch(lab):
    return f"scratch={lab.root}.scratch"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Six cells and their data; the project's folder is committed."""
    lab = Lab(tmp_path_factory.mktemp("fan_out") / "lab")
    copy_project(lab)
    for stage in ("download", "download_pretrained", "prepare", "mine", "train", "evaluate", "measure"):
        (lab.root / f"pipelines/{stage}.py").write_text(STAND_IN)
    lab.run("git", "init", "--quiet")
    lab.run("git", "config", "user.name", "lab")
    lab.run("git", "config", "user.email", "lab@example.org")
    lab.run("dvc", "init", "--quiet")
    lab.grid(data=[DATA], model=["tfidf"], seed=range(6), profile="smoke", overrides=[])
    lab.run("dvc", "repro", "mine", "download_pretrained")
    lab.commit()
    return lab


@pytest.fixture
def lab(prepared, tmp_path):
    return prepared.copy(tmp_path / "lab")


def with_grid(lab, *seeds):
    lab.grid(seed=seeds)
    lab.commit()


def test_each_stale_cell_runs_once_as_a_job_and_dvc_restores_what_is_finished(lab):
    with_grid(lab, 0, 1, 9)
    before = (lab.root / "dvc.lock").read_bytes()
    code, out = lab.attempt(*FAN_OUT, scratch(lab), "hydra.launcher.processes=2")
    assert code == 1
    assert "2 of 3 cells are finished, 1 failed" in out
    assert f"failed: {BROKEN}: cannot be trained; see multirun/fan_out/{BROKEN}/log.txt" in out
    assert "`dvc repro` restores what is finished" in out
    store = f"sqlite:///{lab.root}/mlruns/mlflow.db"
    expected = [f"{stage} {cell} 1 {store}" for stage in ("train", "evaluate") for cell in cells_of(0, 1)]
    assert sorted(ran(lab)) == sorted([*expected, f"train {BROKEN} 1 {store}"])
    assert list(Path(f"{lab.root}.scratch").iterdir()) == [], "clones are removed"
    for name in ("observed.json", "README.md"):
        assert (lab.root / "runs" / cells_of(1)[0] / name).is_file()
    written = set((yaml.safe_load((lab.root / "dvc.lock").read_text()))["stages"])
    assert written == set(yaml.safe_load(before)["stages"]), "jobs write no dvc.lock but their own"
    assert lab.ran(*evaluations(cells_of(0, 1))) == []
    assert json.loads((lab.root / f"runs/{cells_of(0)[0]}/metrics.json").read_text())["stage"] == "evaluate"
    assert "no cell to run" in lab.run(*FAN_OUT, f"cell={','.join(cells_of(0, 1))}")


def test_while_jobs_run_dvc_is_refused_and_after_ctrl_c_the_same_command_goes_on(lab, wait_for):
    with_grid(lab, 0, 1)
    wait = lab.root / "build/checkpoints/wait"
    wait.parent.mkdir(parents=True, exist_ok=True)
    wait.touch()
    process = lab.start(*FAN_OUT, scratch(lab), "hydra.launcher.processes=2")
    wait_for(process, "trainings", lambda: sum(line.startswith("train") for line in ran(lab)) == 2)
    code, out = lab.attempt("dvc", "gc", "--workspace", "--force")
    assert code != 0
    assert "Unable to acquire lock" in out
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode != 0
    assert f"stopped or lost: {', '.join(cells_of(0, 1))}" in out
    wait.unlink()
    assert "2 of 2 cells are finished, 0 failed" in lab.run(*FAN_OUT, scratch(lab), "hydra.launcher.processes=2")
    assert lab.ran(*evaluations(cells_of(0, 1))) == []


def test_results_travel_over_a_remote_to_another_clone(lab, tmp_path):
    remote = ("dvc", "remote", "add", "--default", "--local", "store")
    lab.run(*remote, f"{tmp_path / 'remote'}")
    (cell,) = cells_of(0)
    out = lab.run(*FAN_OUT, "push=true", f"cell={cell}", scratch(lab))
    assert "`dvc repro --pull` restores" in out
    other = Lab(tmp_path / "other")
    lab.run("git", "clone", "--quiet", f"{lab.root}", f"{other.root}")
    other.run(*remote, f"{tmp_path / 'remote'}")
    assert other.ran("--pull", f"evaluate@{cell}") == [], "not even the data is made there"
    assert json.loads((other.root / f"runs/{cell}/metrics.json").read_text())["key"] == cell


@pytest.mark.slow_hostile
def test_six_cells_run_with_submitit(lab):
    pytest.importorskip("submitit")
    out = lab.run(*FAN_OUT, "hydra/launcher=submitit_local", scratch(lab))
    assert "6 of 6 cells are finished, 0 failed" in out
    assert sorted(line.split()[1] for line in ran(lab) if line.startswith("train")) == cells_of(*range(6))
    assert lab.ran(*evaluations(cells_of(*range(6)))) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("cell=toy_questions-tfidf-7",),
            "params.yaml has no cell toy_questions-tfidf-7; it has toy_questions-tfidf-0,",
        ),
        (("push=true",), "push=true needs a default remote of DVC"),
        (("hydra/launcher=submitit_slurm",), "several machines cannot write one SQLite file (sqlite:////"),
    ],
)
def test_what_cannot_work_is_refused_before_a_job_runs(arguments, expected, prepared):
    if "hydra/launcher=submitit_slurm" in arguments:
        pytest.importorskip("submitit")
    code, out = prepared.attempt(*FAN_OUT, *arguments)
    assert code == 1
    assert expected in out
    assert "Traceback" not in out
    assert not (prepared.root / "multirun").exists()


def test_http_remotes_are_refused(lab):
    lab.run("dvc", "remote", "add", "--default", "--local", "store", "http://127.0.0.1:1/store")
    code, out = lab.attempt(*FAN_OUT, "push=true")
    assert code == 1
    assert "run cache does not travel over http, as the remote store does" in out


def test_changes_that_are_not_committed_are_refused_and_named(lab):
    lab.append("conf/train.yaml", "# edited\n")
    (lab.root / "src/twicetold/new.py").write_text("")
    code, out = lab.attempt(*FAN_OUT)
    assert code == 1
    assert "jobs run a commit" in out
    assert " M conf/train.yaml\n?? src/twicetold/new.py" in out


@pytest.mark.slow_hostile
def test_a_training_that_was_killed_in_its_clone_goes_on_in_another(finished, store, tmp_path, wait_for):
    epochs, cell = 16, "toy_news-dae-0"
    lab = finished.copy(tmp_path / "lab")
    subprocess.run(["cp", f"{store}", f"{lab.root / 'mlruns'}"], check=True)
    slow = [f"trainer.epochs={epochs}", "trainer.batch_size=8", "trainer.patience=null"]
    lab.grid(data=["toy_news"], model=["dae"], overrides=slow)
    lab.commit()
    process = lab.start(*FAN_OUT, scratch(lab))
    checkpoints = lab.root / "build/checkpoints"
    wait_for(process, "a checkpoint", lambda: any(checkpoints.glob("*/last.ckpt")))
    (lock,) = checkpoints.glob("*.lock")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    out, _ = process.communicate()
    assert process.returncode == 1
    assert f"failed: {cell}: failed to reproduce 'train@{cell}'" in out
    assert "1 of 1 cells are finished, 0 failed" in lab.run(*FAN_OUT, scratch(lab))
    (run,) = lab.tracked_runs()
    *steps, evaluated = [step for step, _ in run.curves["val/auroc_category"]]
    assert evaluated == steps[-1] == epochs - 1, "the evaluation's is at the last epoch"
    assert len(steps) == len(set(steps)), "no epoch was trained twice"
    assert epochs - len(steps) <= 1, "a kill between checkpoint and metrics loses one point"
    assert "test/auroc_category" in run.curves
    assert lab.ran(f"evaluate@{cell}") == []

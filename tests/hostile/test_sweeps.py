"""Sweeps: grids and searches that are stopped, jobs that fail, and what a sweep says at its end."""

import json
import os
import re
import shutil
import signal
import sqlite3
from itertools import permutations
from pathlib import Path

import optuna
import pytest

from lab import Batch, Lab
from twicetold_lab.grid.study import storage

TOY = ("data=toy_questions", "model=dae", "profile=smoke", "trainer.epochs=2")
GRID = ("train", "-m", *TOY, "optimizer.lr=0.01,1e30,0.02,0.03")
SEARCH = ("sweep", *TOY, "tracking.enabled=false", "pruner.min_resource=2")


def folder_of(lab: Lab):
    (file,) = (lab.root / "multirun").glob("*/sweep.json")
    return file.parent


def study_of(folder: Path) -> optuna.Study:
    return optuna.load_study(study_name=folder.name, storage=storage(folder))


def workers_of(lab: Lab) -> list[int]:
    """The processes that train now; a lock without a number yet is left out."""
    return [int(held) for lock in lab.root.glob("build/checkpoints/*.lock") if (held := lock.read_text())]


def test_a_grid_leaves_failed_jobs_ranks_the_others_and_repeats_none_that_is_finished(by_hand: Lab, store):
    (by_hand.root / "mlruns").mkdir(exist_ok=True)
    shutil.copy(store, by_hand.root / "mlruns")
    (code, out), (again, repeated) = by_hand.scripts(GRID, GRID)
    assert code == again == 0, out
    folder = folder_of(by_hand)
    assert f"sweep {folder.name}: 3 finished, 1 failed" in out
    assert re.search(r"failed: 1 \(lr=1e\+30\): Diverged: training diverged", out), out
    values = {n: json.loads((folder / f"{n}/result.json").read_text()).get("value") for n in range(4)}
    best = max((0, 2, 3), key=values.get)
    assert re.search(rf"best: lr=0.0[123], in multirun/{folder.name}/{best}$", out, re.MULTILINE)
    assert f"python pipelines/promote.py sweep={folder.name}" in out
    table = [int(n) for n in re.findall(r"^ +(\d) +[\d.]+ +2 +0.0\d$", out, re.MULTILINE)]
    assert table == sorted((0, 2, 3), key=lambda n: -values[n])

    assert "3 of 4 jobs are there and will not be repeated" in repeated
    assert repeated.count("from an earlier call") == 3

    runs = by_hand.tracked_runs()
    (parent,) = (run for run in runs if "sweep" in run.tags)
    assert runs[0].id == parent.id, "it is made before the jobs"
    assert parent.status == "FINISHED"
    assert parent.tags["mlflow.runName"] == "sweep dae lr"
    assert re.fullmatch(r"lr=0.0[123]", parent.tags["best"])
    names = [run.tags["mlflow.runName"] for run in runs if run.tags.get("mlflow.parentRunId") == parent.id]
    assert names == ["lr=0.01 dae", "lr=1e+30 dae", "lr=0.02 dae", "lr=0.03 dae", "lr=1e+30 dae"]
    assert all(run.tags["error"].startswith("Diverged") for run in runs if run.status == "FAILED")
    artifacts = by_hand.root / "mlruns/artifacts/toy_questions" / parent.id / "artifacts"
    found = {str(file.relative_to(artifacts)) for file in artifacts.rglob("*") if file.is_file()}
    assert found == {"ranking.txt", "best.yaml"}


def test_a_search_that_is_killed_goes_on_when_it_is_called_again(by_hand: Lab, wait_for):
    command = ("python", "pipelines/sweep.py", *SEARCH[1:], "trials=5", "workers=2")
    process = by_hand.start(*command)
    wait_for(process, "two trials", lambda: len(workers_of(by_hand)) == 2)
    os.kill(process.pid, signal.SIGKILL)  # the launcher alone: the workers end with it
    process.communicate(timeout=60)
    folder = folder_of(by_hand)
    (code, out), (more, further) = by_hand.scripts((*SEARCH, "trials=5"), (*SEARCH, "trials=6"))
    assert code == more == 0, out + further
    assert re.search(rf"{folder.name}: .+ are there; the search goes on to 5 trials", out)
    said = re.search(rf"sweep {folder.name}: (\d) finished(?:, (\d) pruned)?$", out, re.MULTILINE)
    assert sum(int(n or 0) for n in said.groups()) == 5, out
    assert re.search(r"^trial|toy_questions dae .* val auroc", out, re.MULTILINE)
    assert "are there; the search goes on to 6 trials" in further
    trials = study_of(folder).trials
    killed = [trial for trial in trials if trial.state.name == "FAIL"]
    assert killed
    assert len(trials) == len(killed) + 5 + 1, "those killed, tried again among the five, then one"
    assert all(any(trial.params == other.params for other in trials[trial.number + 1 :]) for trial in killed)
    models = {int(path.parent.name) for path in folder.glob("*/model")}
    assert len(models) == int(re.search(r": (\d) finished", further).group(1)), "those of pruned trials are removed"


def test_a_search_goes_on_without_a_worker_that_is_killed_and_is_refused_a_second_time(by_hand: Lab, wait_for):
    process = by_hand.start("python", "pipelines/sweep.py", *SEARCH[1:], "workers=2", "trials=5")
    first, other = wait_for(process, "two trials", lambda: len(found := workers_of(by_hand)) == 2 and found)
    folder = folder_of(by_hand)
    os.kill(first, signal.SIGKILL)
    os.kill(other, signal.SIGSTOP)  # so that the search has not ended when it is called again
    ((code, refused),) = by_hand.scripts((*SEARCH, "trials=5"))
    os.kill(other, signal.SIGCONT)
    assert code == 1
    assert f"error: process {process.pid} does this already: the sweep multirun/{folder.name}" in refused
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 1, out
    assert len(re.findall(r"^lost: process \d+ was killed by signal 9", out, re.MULTILINE)) == 1, out
    assert "error: 4 of 5 trials are there, as workers were lost; the same command goes on" in out
    ((code, further),) = by_hand.scripts((*SEARCH, "trials=5"))
    assert code == 0, further
    states = [trial.state.name for trial in study_of(folder).trials]
    assert (len(states), states.count("FAIL")) == (6, 1), "the trial of the killed one, tried again"

    (folder / "study.db").write_bytes(b"no database" * 100)
    ((code, damaged),) = by_hand.scripts((*SEARCH, "trials=7"))
    assert code == 1
    assert f"error: cannot read the study of the search, multirun/{folder.name}/study.db (" in damaged
    assert f"rm -r multirun/{folder.name}" in damaged


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_grid_goes_on_without_a_job_whose_process_is_killed_and_the_run_of_that_ends_as_killed(
    by_hand: Lab, store, wait_for, number
):
    (by_hand.root / "mlruns").mkdir(exist_ok=True)
    shutil.copy(store, by_hand.root / "mlruns")
    settings = ("trainer.epochs=60", "trainer.patience=null", "optimizer.lr=0.01,0.02,0.03")
    command = ("python", "pipelines/sweep.py", *TOY[:-1], *settings, "workers=2")
    process = by_hand.start(*command)
    wait_for(process, "a checkpoint", lambda: any(by_hand.root.glob("build/checkpoints/*/last.ckpt")))
    (checkpoint, *_) = by_hand.root.glob("build/checkpoints/*/last.ckpt")
    os.kill(int(checkpoint.parent.with_suffix(".lock").read_text()), number)
    out, _ = process.communicate(timeout=300)
    children = [run for run in by_hand.tracked_runs() if "mlflow.parentRunId" in run.tags]
    assert sorted(run.status for run in children) == ["FINISHED", "FINISHED", "KILLED"]
    (killed,) = (run for run in children if run.status == "KILLED")
    assert killed.tags["error"]
    (parent,) = (run for run in by_hand.tracked_runs() if "sweep" in run.tags)
    assert parent.status != "RUNNING"
    if number == signal.SIGKILL:
        assert parent.status == "FINISHED"
        assert process.returncode == 0, out
        lost = re.search(r"^lost: process \d+ was killed by signal 9, .* It ran: .*lr=0.0[123]$", out, re.MULTILINE)
        assert lost, out
        assert f"sweep {folder_of(by_hand).name}: 2 finished" in out
        assert "3 finished" in by_hand.run(*command)


def test_the_trial_of_the_values_of_now_is_never_pruned(by_hand: Lab):
    every = ("pruner._target_=optuna.pruners.ThresholdPruner", "+pruner.lower=2")
    every += ("~pruner.min_resource", "~pruner.reduction_factor")
    ((code, out),) = by_hand.scripts((*SEARCH[:-1], *every, "trials=3"))
    assert code == 0, out
    assert "1 finished, 2 pruned" in out
    assert re.search(r"^best: .*alpha=10000 lr=0.01 .*/0$", out, re.MULTILINE), out


def test_a_trial_that_fails_leaves_the_search_and_other_choices_need_a_new_one(by_hand: Lab):
    space = by_hand.root / "conf/sweep/dae.yaml"
    space.write_text("optimizer.lr: {kind: categorical, choices: [0.01, 1e30]}\n")
    sampler = ("sampler._target_=optuna.samplers.RandomSampler", "~sampler.constant_liar")
    ((code, out),) = by_hand.scripts((*SEARCH, *sampler, "trials=6"))
    assert code == 0, out
    assert re.search(r"failed: \d \(lr=\S+\): \w+: training diverged", out), out
    assert "best: lr=0.01, in" in out
    space.write_text("optimizer.lr: {kind: categorical, choices: [0.01, 0.02]}\n")
    ((code, refused),) = by_hand.scripts((*SEARCH, *sampler, "trials=7"))
    assert code == 1
    assert re.search(
        r"error: .* a search keeps the choices that it began with\. .*: rm -r multirun/\S+$", refused, re.M
    )


WORKER = """
import hydra
from twicetold_lab.grid.trials import work
from train import train

@hydra.main(version_base="1.3", config_path="../conf", config_name="search")
def main(cfg):
    work(cfg, train)

main()
"""
"""A worker of a search that is there, as launchers start them; of its own, so that eight can begin at once."""


@pytest.mark.slow_hostile
def test_eight_workers_of_one_search_at_once_lose_no_trial_and_no_run(by_hand: Lab, store):
    """About 55 s of one core."""
    (by_hand.root / "mlruns").mkdir(exist_ok=True)
    shutil.copy(store, by_hand.root / "mlruns")
    (by_hand.root / "pipelines/worker.py").write_text(WORKER)
    search = ("data=toy_questions", "model=dae", "profile=smoke", "trainer.epochs=1", "pruner.min_resource=2")
    ((code, out),) = by_hand.scripts(("sweep", *search, "trials=1"))
    assert code == 0, out
    folder = folder_of(by_hand)
    worker = ("worker", *search, "trials=9", f"hydra.sweep.dir=multirun/{folder.name}")
    batch = Batch(tuple((*worker, f"worker={n}", f"hydra.run.dir={folder}/worker-{n}") for n in range(8)))
    (ended,) = by_hand.batches(batch)
    for code, out in ended.ends:
        assert code == 0, out
        assert "MLflow could not" not in out

    study = study_of(folder)
    assert [trial.number for trial in study.trials] == list(range(9))
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    assert any(a.datetime_start < b.datetime_start < a.datetime_complete for a, b in permutations(study.trials, 2))
    assert {int(path.parent.name) for path in folder.glob("*/model")} == set(range(9))

    runs = by_hand.tracked_runs()
    (parent,) = (run for run in runs if "sweep" in run.tags)
    children = {run.id: run for run in runs if run.tags.get("mlflow.parentRunId") == parent.id}
    assert len(children) == len(runs) - 1 == 9
    assert {run.status for run in runs} == {"FINISHED"}
    assert not any("error" in run.tags for run in runs)
    tried = {float(run.params["optimizer.lr"]): run.curves["best/auroc"][-1][1] for run in children.values()}
    assert tried == {trial.params["optimizer.lr"]: trial.value for trial in study.trials}
    assert all(len(run.curves["val/auroc"]) == 1 for run in children.values())
    with sqlite3.connect(by_hand.root / "mlruns/mlflow.db") as opened:
        models = opened.execute("SELECT source_run_id FROM logged_models WHERE status = 2").fetchall()
    assert {run for (run,) in models} == children.keys()
    artifacts = by_hand.root / "mlruns/artifacts/toy_questions"
    assert all((artifacts / run / "artifacts/config.yaml").is_file() for run in children)

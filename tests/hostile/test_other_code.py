"""Code that is edited between two calls of one command, or that is not the installed one: no number is of other code.

A training that is killed does not go on with other code, a sweep repeats no value of other code, a promotion builds on
none, and a second checkout runs its own.
"""

import os
import re
import shutil
import signal

import pytest

from lab import PROJECT, Lab

DSSM = ("data=toy_questions", "model=dssm", "profile=smoke", "tracking.enabled=false", "trainer.patience=null")
LONG = (*DSSM, "trainer.epochs=6", "trainer.batch_size=16", "hydra.run.dir=run")
LOSS = ("src/twicetold_lab/objectives/info_nce.py", "return total / pairs[0]", "return -total / pairs[0]")
GRID = ("train", "-m", "data=toy_questions", "model=tfidf", "tracking.enabled=false", "features.min_df=1,2")
SEARCH = ("sweep", "data=toy_questions", "model=dae", "profile=smoke", "trainer.epochs=1", "tracking.enabled=false")
RAISES = "\nraise RuntimeError('the code of the second checkout')\n"
IN_WORKERS = f"""
from multiprocessing import current_process
if current_process().name != "MainProcess": {RAISES.strip()}
"""


def test_a_killed_training_does_not_go_on_with_other_code(by_hand: Lab, wait_for):
    fresh = by_hand.copy(by_hand.root.with_name("fresh"))
    process = by_hand.start("python", "pipelines/train.py", *LONG)
    wait_for(process, "an epoch", lambda: any((by_hand.root / "build/checkpoints").glob("*/last.ckpt")))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert not (by_hand.root / "run/model").exists()
    for lab in (by_hand, fresh):
        lab.edit(*LOSS)
        ((code, out),) = lab.scripts(("train", *LONG))
        assert code == 0, out
    assert by_hand.bytes_of("run/model") == fresh.bytes_of("run/model")


def test_a_grid_repeats_no_value_of_other_code_and_a_promotion_builds_on_none(by_hand: Lab):
    ((code, out),) = by_hand.scripts(GRID)
    assert code == 0, out
    before = re.findall(r"val auroc (0\.\d+)", out)
    by_hand.append("src/twicetold/features/tfidf.py", "\nEDITED = True\n")
    (refused, why), (code, again), (last, promoted) = by_hand.scripts(("promote",), GRID, ("promote",))
    assert refused == 1
    assert "are of other code or library versions than now (min_df=" in why
    assert code == 0, again
    assert "2 results are of other code or library versions: these jobs run again" in again
    assert "from an earlier call" not in again
    assert re.findall(r"val auroc (0\.\d+)", again) == before
    assert "are of other code" not in promoted
    assert last == 0, promoted
    ((_, repeated),) = by_hand.scripts(GRID)
    assert repeated.count("from an earlier call") == 2


def test_a_job_that_fails_with_other_code_leaves_no_value_of_the_former_in_the_ranking(by_hand: Lab):
    by_hand.scripts(GRID)
    by_hand.append("src/twicetold/features/tfidf.py", RAISES)
    ((code, out),) = by_hand.scripts(GRID)
    assert "finished" not in out
    assert code != 0


def test_a_search_does_not_go_on_from_trials_of_other_code(by_hand: Lab):
    ((code, out),) = by_hand.scripts((*SEARCH, "trials=1"))
    assert code == 0, out
    by_hand.append("src/twicetold_lab/objectives/denoising_triplet.py", "\nEDITED = True\n")
    ((code, out),) = by_hand.scripts((*SEARCH, "trials=2"))
    assert code == 1
    assert re.search(r"the trials in multirun/\S+ are of other data, settings, code or library versions", out)


def test_an_evaluation_finds_the_run_of_its_training_although_code_was_edited_since(by_hand: Lab, store):
    (by_hand.root / "mlruns").mkdir(exist_ok=True)
    shutil.copy(store, by_hand.root / "mlruns")
    command = ("data=toy_questions", "model=tfidf", "hydra.run.dir=run")
    by_hand.scripts(("train", *command))
    by_hand.append("src/twicetold/features/tfidf.py", "\nEDITED = True\n")
    ((code, out),) = by_hand.scripts(("evaluate", *command))
    assert code == 0, out
    (run,) = by_hand.tracked_runs()
    assert {"val/auroc", "test/auroc"} <= set(run.curves)


@pytest.mark.parametrize(
    ("edit", "settings"),
    [(RAISES, ()), (IN_WORKERS, ("-m", "seed=0,1", "hydra/launcher=processes", "hydra.launcher.processes=2"))],
    ids=["by itself", "in processes of a launcher"],
)
def test_a_second_checkout_in_one_environment_trains_with_its_own_code(by_hand: Lab, edit, settings):
    by_hand.append("src/twicetold/models/tfidf.py", edit)
    settings = (*settings, "data=toy_questions", "model=tfidf", "tracking.enabled=false")
    installed = {"PYTHONPATH": f"{PROJECT / 'src'}"}
    code, out = by_hand.attempt("python", "pipelines/train.py", *settings, env=installed)
    assert code != 0
    assert "the code of the second checkout" in out


@pytest.mark.parametrize("how", ["--temp", "--queue"])
def test_an_experiment_of_dvc_in_a_copy_runs_the_code_of_the_copy(finished: Lab, tmp_path, how):
    lab = finished.copy(tmp_path / "lab")
    lab.append("src/twicetold/models/tfidf.py", RAISES)
    installed = {"PYTHONPATH": f"{PROJECT / 'src'}"}
    code, out = lab.attempt("dvc", "exp", "run", how, "train@toy_news-tfidf-0", env=installed)
    if how == "--queue":
        assert code == 0, out
        code, out = lab.attempt("dvc", "exp", "run", "--run-all", env=installed)
        out += lab.run("dvc", "queue", "status")
        assert "Failed" in out
        assert "Success" not in out
    else:
        assert "the code of the second checkout" in out
        assert code != 0

"""Code that is edited between two calls of one command, or that is not the installed one: no number is of other code.

A sweep repeats no value of other code, a promotion builds on none, and a copy of the project runs its own.
"""

import re
import shutil

import pytest

from lab import PROJECT, Lab

GRID = ("train", "-m", "data=toy_questions", "model=tfidf", "tracking.enabled=false", "features.min_df=1,2")
SEARCH = ("sweep", "data=toy_questions", "model=dae", "profile=smoke", "trainer.epochs=1", "tracking.enabled=false")
RAISES = "\nraise RuntimeError('the code of the second checkout')\n"


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

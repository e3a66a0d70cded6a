"""From a sweep to tuned values: what is written, what is refused, and what seeds say."""

import json
import re
from itertools import product

import optuna
import pytest
import yaml

from lab import Lab
from twicetold_lab.grid.jobs import code_of
from twicetold_lab.grid.recipe import composed
from twicetold_lab.grid.study import storage

CHOICES = ("data=toy_questions", "model=dae")
LEAF = "conf/tuned/toy_questions-dae.yaml"


def grid(lab: Lab, values, *fixed, name="toy_questions-dae-1", **varies):
    """The folder of a finished grid with these values, of jobs in Hydra's order."""
    overrides = [*(CHOICES if not any(o.startswith("data=") for o in fixed) else ()), *fixed]
    keys = [key.replace("__", ".") for key in varies]
    jobs = [[*overrides, *(f"{k}={v}" for k, v in zip(keys, each))] for each in product(*varies.values())]
    folder = lab.root / "multirun" / name
    folder.mkdir(parents=True)
    about = {"overrides": overrides, "varies": dict(zip(keys, varies.values())), "jobs": jobs, "parents": {}}
    (folder / "sweep.json").write_text(json.dumps(about))
    for number, value in enumerate(values):
        result = {"metric": "auroc", "value": value, "epochs": 2, "code": code_of(composed(jobs[number % len(jobs)]))}
        (folder / f"{number}").mkdir()
        (folder / f"{number}/result.json").write_text(json.dumps(result))
    return folder


def promoted(lab: Lab, *arguments):
    ((code, out),) = lab.scripts(("promote", *arguments))
    assert "Traceback" not in out
    return code, out


def test_the_best_is_written_beside_what_is_there_and_then_it_is_what_is_there(by_hand: Lab):
    former = yaml.safe_load((by_hand.root / LEAF).read_text())
    grid(by_hand, [0.7, 0.9, 0.8, 0.6], objective__alpha=["100", "1000"], optimizer__lr=["0.02", "0.05"])
    code, out = promoted(by_hand)
    assert code == 0, out
    assert re.search(r"0\.9000  alpha=100 lr=0\.05\n  0\.8000  alpha=1000 lr=0\.02\n", out)
    assert "differ by +0.1000, on one seed." in out
    assert "sweep.py data=toy_questions model=dae objective.alpha=100 optimizer.lr=0.05 seed=101,102,103" in out
    assert f"wrote {LEAF}" in out
    text = (by_hand.root / LEAF).read_text()
    assert text.startswith("# @package _global_\n# Promoted from a sweep (toy_questions-dae-1; 4 finished) over ")
    former["objective"]["alpha"], former["optimizer"]["lr"] = 100, 0.05
    former["tuned_how"] = "searched, 4 finished"
    assert yaml.safe_load(text) == former
    code, again = promoted(by_hand, "sweep=toy_questions-dae-1")
    assert code == 0
    assert "alpha=100 lr=0.05 (as now)" in again
    assert "nothing is written" in again
    assert (by_hand.root / LEAF).read_text() == text


def test_seeds_of_a_sweep_decide_by_their_mean_and_say_whether_they_explain_the_difference(by_hand: Lab):
    values = [0.90, 0.70, 0.80, 0.85, 0.83, 0.84]  # of the one with the best single value, and of the better one
    grid(by_hand, values, objective__alpha=["100", "1000"], seed=["0", "1", "2"])
    code, out = promoted(by_hand)
    assert code == 0, out
    assert "toy_questions, val auroc, mean of 3 seeds:" in out
    assert "0.8400  0.8500 0.8300 0.8400  alpha=1000" in out
    assert "The winner and alpha=100 differ by +0.0400, which seeds could explain (p = 0.5" in out
    assert yaml.safe_load((by_hand.root / LEAF).read_text())["objective"]["alpha"] == 1000


def test_a_winner_of_another_budget_than_conf_has_is_refused(by_hand: Lab):
    before = by_hand.bytes_of("conf")
    grid(by_hand, [0.8, 0.9], "trainer.epochs=1", objective__alpha=["100", "1000"])
    code, out = promoted(by_hand)
    assert code == 1
    assert "was trained with trainer.epochs=1 (conf/ has 40), so their values cannot be compared: sweep without" in out
    assert by_hand.bytes_of("conf") == before


def test_numbers_of_a_search_are_written_with_three_digits(by_hand: Lab):
    folder = grid(by_hand, [], name="toy_questions-dae-2", optimizer__lr=[])
    about = json.loads((folder / "sweep.json").read_text())
    about |= {"jobs": [], "varies": {"optimizer.lr": {"kind": "float", "low": 0.001, "high": 0.1}}}
    (folder / "sweep.json").write_text(json.dumps(about))
    study = optuna.create_study(study_name=folder.name, storage=storage(folder), direction="maximize")
    ranges = {"optimizer.lr": optuna.distributions.FloatDistribution(0.001, 0.1)}
    about = {"metric": "auroc", "epochs": 2, "code": code_of(composed([*CHOICES]))}
    for value, lr in ((0.7, 0.01), (0.8, 0.031415926)):
        trial = optuna.create_trial(params={"optimizer.lr": lr}, distributions=ranges, value=value, user_attrs=about)
        study.add_trial(trial)
    code, out = promoted(by_hand)
    assert code == 0, out
    assert yaml.safe_load((by_hand.root / LEAF).read_text())["optimizer"]["lr"] == 0.0314


@pytest.mark.parametrize(
    ("fixed", "varies", "answer"),
    [
        (
            ["features=words"],
            {"optimizer__lr": ["0.02"]},
            "the sweep sets features, and conf/tuned/ holds values alone",
        ),
        (["data.source.limit=300"], {"optimizer__lr": ["0.02"]}, "the sweep sets data.source.limit, and conf/tuned/"),
        ([], {"seed": ["0", "1"]}, "there is no sweep 'latest'"),
        (
            ["data=quora_disjoint", "model=dssm"],
            {"optimizer__lr": ["0.02"]},
            "conf/tuned/quora_disjoint-dssm.yaml would not be used: conf/data/quora_disjoint.yaml takes tuned values",
        ),
    ],
)
def test_what_tuned_values_cannot_hold_is_refused_and_nothing_is_written(by_hand: Lab, fixed, varies, answer):
    before = by_hand.bytes_of("conf")
    grid(by_hand, [0.8, 0.7], *fixed, **varies)
    code, out = promoted(by_hand)
    assert code == 1
    assert answer in out
    assert by_hand.bytes_of("conf") == before


def test_settings_that_it_does_not_know_are_named(by_hand: Lab):
    assert "expected sweep=<id, folder or latest>; got swep" in promoted(by_hand, "swep=x")[1]

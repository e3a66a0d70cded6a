"""What the end of a sweep says, and how its runs are named."""

from types import SimpleNamespace

import pytest

from twicetold.files import write_json
from twicetold_lab.grid.jobs import Job
from twicetold_lab.grid.study import RESULT, Sweep, ranking, read_study


def sweep_of(folder, varies, values):
    """A grid that has ended: a value of each job, in the order of the combinations."""
    jobs = [[]]
    for key, choices in varies.items():
        jobs = [[*job, f"{key}={choice}"] for job in jobs for choice in choices]
    sweep = Sweep(folder, ["data=toy_news"], varies, jobs)
    for number, value in enumerate(values):
        write_json(sweep.model(number) / RESULT, {"metric": "auroc", "epochs": 2, "value": value})
    return sweep


def said(sweep):
    return ranking(sweep, read_study(sweep)).splitlines()


def means(lines):
    """The rows of the table of means, with its head."""
    start = lines.index("means over seeds:") + 1
    return [line.split() for line in lines[start:] if line.startswith("  ")]


def test_the_end_of_a_sweep_over_seeds_has_the_mean_of_each_setting_the_highest_first(tmp_path):
    sweep = sweep_of(tmp_path, {"objective.alpha": ["10", "100"], "seed": ["0", "1"]}, [0.9, 0.5, 0.8, 0.78])
    lines = said(sweep)
    assert means(lines) == [
        ["mean", "sd", "seeds", "objective.alpha"],
        ["0.7900", "0.0141", "2", "100"],
        ["0.7000", "0.2828", "2", "10"],
    ]
    assert lines[-2] == f"best: alpha=10 seed=0, in {tmp_path}/0"


def test_where_the_seed_alone_varies_there_is_one_mean_and_of_one_seed_no_deviation(tmp_path):
    lines = said(sweep_of(tmp_path / "seeds", {"seed": ["0", "1", "2"]}, [0.5, 0.6, 0.7]))
    assert means(lines) == [["mean", "sd", "seeds"], ["0.6000", "0.1000", "3"]]
    lines = said(sweep_of(tmp_path / "one", {"model": ["dae", "dssm"], "seed": ["0", "1"]}, [0.5, 0.6, 0.7]))
    assert means(lines)[1:] == [["0.7000", "1", "dssm"], ["0.5500", "0.0707", "2", "dae"]]


def test_means_of_several_datasets_stand_dataset_by_dataset(tmp_path):
    varies = {"data": ["toy_questions", "toy_news"], "seed": ["0", "1"]}
    lines = said(sweep_of(tmp_path, varies, [0.9, 0.9, 0.5, 0.7]))
    assert [(row[0], row[-1]) for row in means(lines)[1:]] == [("0.6000", "toy_news"), ("0.9000", "toy_questions")]


def test_without_seeds_there_are_no_means(tmp_path):
    assert "means over seeds:" not in said(sweep_of(tmp_path, {"objective.alpha": ["10", "100"]}, [0.5, 0.6]))


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"objective.alpha": 100, "seed": 1}, "alpha=100 seed=1 dae"),
        ({"model": "dae", "objective.alpha": 100}, "dae alpha=100"),
    ],
)
def test_a_run_of_a_sweep_is_named_by_what_differs_first_and_by_its_family_once(values, name, tmp_path):
    sweep = Sweep(tmp_path, [], dict.fromkeys(values, ()))
    assert Job(sweep, sweep.name(values)).name(SimpleNamespace(model="dae")) == name

"""Which cells run as jobs."""

from contextlib import contextmanager

import pytest
from hydra import compose, initialize_config_dir

import fan_out
from twicetold_lab.grid.cell_job import PLAN, RESULT
from twicetold_lab.grid.fan_out import chosen
from twicetold_lab.grid.settings import CONF


def test_a_cell_that_needs_a_stale_training_of_another_is_left_to_home():
    of_teacher = {"prepare@q", "train@teacher"}
    of_student = {*of_teacher, "mine_with_model@m"}
    before = {
        "prepare@q": set(),
        "train@teacher": {"prepare@q"},
        "evaluate@teacher": of_teacher,
        "mine_with_model@m": of_teacher,
        "train@student": of_student,
        "evaluate@student": {*of_student, "train@student"},
        "evaluate_ensemble@both": {*of_student, "train@student"},
    }
    everything = set(before)
    assert chosen(None, before, everything) == (["teacher"], {"student": {"train@teacher"}})
    assert chosen(["student"], before, everything) == ([], {"student": {"train@teacher"}})
    fresh = {"prepare@q", "train@teacher", "evaluate@teacher"}
    assert chosen(None, before, everything - fresh) == (["student"], {})


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Calls the command in a folder where every cell is stale, and another process holds DVC's lock."""
    monkeypatch.chdir(tmp_path)
    before = {f"evaluate@{cell}": set() for cell in ("one", "two", "three")}
    done = {"committed": "c0ffee", "graph": (before, set(before)), "stores": {}, "environment": {}}
    for name, found in (done | {"at_home": None, "make_what_cells_need": None}).items():
        monkeypatch.setattr(fan_out, name, lambda *_, found=found, **__: found)
    monkeypatch.setattr(fan_out.sys, "argv", ["fan_out.py"])

    @contextmanager
    def refused():
        raise ValueError("another works in this folder")
        yield

    monkeypatch.setattr(fan_out, "locked", refused)

    def _started(*arguments):
        with pytest.raises(ValueError, match="another works in this folder"):
            fan_out.start(["-m", f"hydra.sweep.dir={tmp_path}", *arguments])
        return fan_out.sys.argv[-1]

    return _started


def test_a_second_call_leaves_plan_and_results_of_the_first_one(started, tmp_path):
    (tmp_path / "one").mkdir()
    for file in (tmp_path / PLAN, tmp_path / "one" / RESULT):
        file.write_text("of the first")
    started("cell=one")
    assert (tmp_path / PLAN).read_text() == (tmp_path / "one" / RESULT).read_text() == "of the first"


def test_cells_may_be_named_one_by_one(started):
    assert started("cell=one", "cell=two") == "cell=one,two"
    assert started() == "cell=one,two,three"


def test_two_users_of_a_machine_have_scratch_folders_of_their_own(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/tmp")
    found = []
    for user in ("ada", "emmy"):
        monkeypatch.setenv("USER", user)
        with initialize_config_dir(f"{CONF}", version_base="1.3"):
            found.append(compose("fan_out").scratch)
    assert found == ["/tmp/twicetold-ada", "/tmp/twicetold-emmy"]

"""Checkpoints that trainings left long ago: which are removed, and which stay."""

import os
import subprocess
import sys
import time

import pytest

from twicetold_lab.grid.observation import KEPT_DAYS, forget_old

HOLD = """
import sys, time
from pathlib import Path
from twicetold.files import only_process

with only_process(Path(sys.argv[1]), "a training"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def left(tmp_path):
    """Leaves the checkpoints of a stopped training, written to so many days ago."""

    def _left(name, days, lock=False):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "last.ckpt").write_text("weights")
        paths = [folder / "last.ckpt", folder]
        if lock:
            (tmp_path / f"{name}.lock").write_text("")
            paths.append(tmp_path / f"{name}.lock")
        for path in paths:
            os.utime(path, (then := time.time() - days * 24 * 60 * 60, then))
        return folder

    return _left


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_checkpoints_of_other_settings_go_a_month_after_their_last_epoch(left, tmp_path, capsys):
    left("0ld", KEPT_DAYS + 1)
    left("k1lled", KEPT_DAYS + 1, lock=True)
    left("recent", KEPT_DAYS - 1)
    forget_old(tmp_path)
    assert names(tmp_path) == ["recent"]
    assert sorted(line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()) == [
        f"{name}: removed, as no training has gone on from it for {KEPT_DAYS} days" for name in ("0ld", "k1lled")
    ]


def test_an_old_folder_in_which_a_file_is_new_stays(left, tmp_path):
    folder = left("long", KEPT_DAYS + 1)
    (folder / "best.safetensors").write_text("weights of today")
    os.utime(folder, (0, 0))
    forget_old(tmp_path)
    assert names(tmp_path) == ["long"]


def test_checkpoints_of_a_training_that_runs_in_another_process_are_never_removed(left, tmp_path):
    left("runs", KEPT_DAYS + 1)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, f"{tmp_path / 'runs.lock'}"], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        os.utime(tmp_path / "runs.lock", (0, 0))
        forget_old(tmp_path)
        assert names(tmp_path) == ["runs", "runs.lock"]
    finally:
        holder.kill()
        holder.communicate()

"""The members of a committee, trained in turn or side by side."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from twicetold.training.members import train_each
from twicetold.training.schedule import Fitted, Runtime

RUNTIME = Runtime(accelerator="cpu", workers=0, progress=False)


@pytest.fixture(params=[1, 2], ids=["in turn", "side by side"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def member(folder, on_epoch, *, number, epochs=2):
    """Says what it did in its folder and by its metrics."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "process").write_text(f"{os.getpid()} {torch.get_num_threads()}")
    for epoch in range(epochs):
        on_epoch({"val/auroc": number + epoch / 10}, epoch)
    return Fitted(epochs=epochs, best_epoch=number, best_value=number / 10)


def failing(folder, on_epoch, *, error):
    raise error


def dying(folder, on_epoch):
    os.kill(os.getpid(), signal.SIGKILL)


def train(tasks, folder, told=None):
    told = [] if told is None else told
    return train_each(
        tasks, checkpoints=folder, runtime=RUNTIME, on_epoch=lambda metrics, epoch: told.append((metrics, epoch))
    )


def test_every_member_is_trained_and_told_of(threads, tmp_path):
    told = []
    found = train([partial(member, number=number) for number in range(5)], tmp_path, told)
    assert found == [Fitted(2, number, number / 10) for number in range(5)]
    expected = [({f"{number}/val/auroc": number + epoch / 10}, epoch) for number in range(5) for epoch in range(2)]
    assert sorted(told, key=str) == sorted(expected, key=str)


def test_side_by_side_each_has_a_process_and_a_thread(threads, tmp_path):
    train([partial(member, number=number) for number in range(2)], tmp_path)
    processes = {tuple((tmp_path / str(number) / "process").read_text().split()) for number in range(2)}
    own = (str(os.getpid()), "1")
    assert processes == {own} if threads == 1 else len(processes - {own}) == 2
    assert all(count == "1" for _, count in processes)


def test_what_a_member_raises_is_raised_and_the_others_are_stopped(threads, tmp_path):
    def slow(folder, on_epoch):
        time.sleep(60)

    tasks = [partial(failing, error=ValueError("the learning rate is too high")), slow]
    with pytest.raises(ValueError, match="the learning rate is too high"):
        train(tasks, tmp_path)
    assert not multiprocessing.active_children()


def test_a_member_that_is_killed_is_missed(tmp_path, threads):
    if threads == 1:
        pytest.skip("in turn, it would be this very process")
    with pytest.raises(ValueError, match="member 1 of the committee ended with status -9"):
        train([partial(member, number=0), dying], tmp_path)


def test_a_member_that_was_finished_is_not_trained_again(threads, tmp_path):
    first = train([partial(member, number=0)], tmp_path)
    told = []
    assert train([partial(member, number=number) for number in range(2)], tmp_path, told)[:1] == first
    assert [metrics for metrics, _ in told] == [{"1/val/auroc": 1.0}, {"1/val/auroc": 1.1}]


STOPPED = """
import os, sys, time, torch
from pathlib import Path
from twicetold.training.members import train_each
from twicetold.training.schedule import Runtime

def slow(folder, on_epoch):
    folder.mkdir(parents=True)
    (folder / "process").write_text(str(os.getpid()))
    time.sleep(60)

torch.set_num_threads(2)
runtime = Runtime(accelerator="cpu", workers=0, progress=False)
train_each([slow, slow], checkpoints=Path(sys.argv[1]), runtime=runtime, on_epoch=print)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="members have processes of their own on Linux alone")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_member_outlives_the_training(stop, tmp_path):
    def until(condition):
        end = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.05)

    process = subprocess.Popen([sys.executable, "-c", STOPPED, str(tmp_path)], stderr=subprocess.DEVNULL)
    files = [tmp_path / str(number) / "process" for number in range(2)]
    until(lambda: all(file.exists() and file.read_text() for file in files))
    members = [Path("/proc", file.read_text()) for file in files]
    assert all(member.exists() for member in members)
    process.send_signal(stop)
    process.wait(timeout=30)
    until(lambda: not any(member.exists() for member in members))


def test_progress_is_a_line_for_each_epoch(threads, tmp_path, capsys):
    tasks = [partial(member, number=number, epochs=1) for number in range(2)]
    runtime = Runtime(accelerator="cpu", workers=0, progress=True)
    train_each(tasks, checkpoints=tmp_path, runtime=runtime, on_epoch=lambda metrics, epoch: None)
    shown = sorted(capsys.readouterr().err.splitlines())
    assert shown == [f"member {number} of 2, epoch 0: val/auroc {number}.0000" for number in range(2)]

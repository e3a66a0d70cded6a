"""A training that is killed goes on where it was, to the very weights of one that was not; Ctrl-C leaves no debris."""

import os
import shutil
import signal
import time

import pytest

EPOCHS = 24
CELL = "toy_news-dae-0"
TRAINED = f"runs/{CELL}/trained"
VALIDATION = "val/auroc_category"
SLOW = (f"trainer.epochs={EPOCHS}", "trainer.batch_size=8", "trainer.patience=null")


@pytest.fixture
def lab(finished, tmp_path):
    """Its data is ready, its model was never trained; training takes a while."""
    lab = finished.copy(tmp_path / "lab")
    shutil.rmtree(lab.root / TRAINED)
    lab.grid(data=["toy_news"], model=["dae"], overrides=["tracking.enabled=false", *SLOW])
    return lab


class Checkpoint:
    """Counts the epochs of a training by the checkpoints it renames into place."""

    def __init__(self, lab):
        self.folder = lab.root / "build" / "checkpoints"
        self.seen = []
        self.last = None

    def epochs(self) -> int:
        for path in self.folder.glob("*/last.ckpt"):
            found = path.stat()
            if (found.st_ino, found.st_mtime_ns) != self.last:
                self.last = found.st_ino, found.st_mtime_ns
                self.seen.append(time.monotonic())
        return len(self.seen)


def test_a_training_killed_in_mid_epoch_resumes_to_the_weights_of_an_undisturbed_one(lab, store, wait_for):
    undisturbed = lab.copy(lab.root.with_name("undisturbed"))
    lab.grid(overrides=list(SLOW))
    shutil.copy(store, lab.root / "mlruns")
    reference = undisturbed.start("dvc", "repro", f"train@{CELL}")

    checkpoint = Checkpoint(lab)
    killed = lab.start("dvc", "repro", f"train@{CELL}")
    wait_for(killed, "three epochs", lambda: checkpoint.epochs() >= 3)
    time.sleep((checkpoint.seen[-1] - checkpoint.seen[-2]) / 2)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert killed.returncode != 0
    assert not (lab.root / TRAINED).exists()
    (unfinished,) = lab.tracked_runs()
    before = [step for step, _ in unfinished.curves[VALIDATION]]
    assert 2 <= len(before) < EPOCHS - 1

    assert lab.ran(f"train@{CELL}") == [f"train@{CELL}"]
    out, _ = reference.communicate()
    assert reference.returncode == 0, out
    assert undisturbed.bytes_of(TRAINED) == lab.bytes_of(TRAINED)
    assert not list(checkpoint.folder.glob("*")), "a finished training keeps no checkpoints"

    (run,) = lab.tracked_runs()
    after = [step for step, _ in run.curves[VALIDATION]]
    assert run.status == "FINISHED"
    assert before == after[: len(before)], "the run of the killed attempt goes on"
    assert len(after) == len(set(after)), "no epoch was trained twice"
    assert set(range(EPOCHS)) - set(after) <= {len(before)}, "a kill between checkpoint and metrics loses one point"


def test_ctrl_c_ends_a_training_with_one_line_and_no_half_written_model(lab, wait_for):
    checkpoint = Checkpoint(lab)
    choices = (
        "data=toy_news",
        "model=dae",
        "profile=smoke",
        "tracking.enabled=false",
        "trainer.epochs=100000",
        *SLOW[1:],
    )
    process = lab.start("python", "pipelines/train.py", *choices, "hydra.run.dir=by-hand")
    wait_for(process, "two epochs", lambda: checkpoint.epochs() >= 2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode not in (0, -signal.SIGINT)
    assert "Traceback" not in out
    (line,) = (line for line in out.splitlines() if line.strip())
    assert line == "stopped. training was stopped; run the same command again to go on from the last epoch"
    assert not list((lab.root / "by-hand").glob("*model*"))
    assert list(checkpoint.folder.glob("*/last.ckpt"))

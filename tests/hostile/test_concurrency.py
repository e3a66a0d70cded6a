"""Many processes at once: one training, one folder of data."""

import json
import multiprocessing
from pathlib import Path

import pytest

from lab import Batch, Lab
from twicetold.files import write_folder, write_text

TOY = ("data=toy_questions", "profile=smoke", "tracking.enabled=false")
MINED = ("model=dae", "examples=triplets", "objective=triplet", "tuned=none", "trainer.epochs=1")


@pytest.mark.slow_hostile
def test_of_many_trainings_of_one_cell_at_once_one_trains_and_the_others_are_refused(by_hand: Lab):
    """About 30 s of one core."""
    training = ("train", *TOY, "model=dae", "trainer.epochs=40", "trainer.patience=null", "hydra.run.dir=runs/one")
    alone = by_hand.copy(by_hand.root.with_name("alone"))
    ((code, out),) = alone.scripts(training)
    assert code == 0, out
    (ended,) = by_hand.batches(Batch((training,) * 8))
    refused = [out for code, out in ended.ends if code]
    assert 1 <= len(refused) < 8
    for out in refused:
        assert "does this already: the training of dae-0 on toy_questions" in out, out
        assert "Traceback" not in out
    assert by_hand.bytes_of("runs/one/model") == alone.bytes_of("runs/one/model")
    assert not list((by_hand.root / "build/checkpoints").iterdir())


PREPARE_MEANWHILE = """
import runpy, subprocess, sys
sys.path.insert(0, "pipelines")
from twicetold_lab.grid import standalone

def prepare_data(cfg, prepare=standalone.prepare_data):
    prepare(cfg)
    other = [sys.executable, "pipelines/prepare.py", "data=toy_questions", "data.source.limit=500"]
    subprocess.run(other, check=True)

standalone.prepare_data = prepare_data
runpy.run_path("pipelines/train.py", run_name="__main__")
"""


def test_a_training_by_hand_notices_that_another_command_prepared_other_data_before_it_read_its_own(by_hand: Lab):
    training = (*TOY, "model=tfidf", "hydra.run.dir=runs/one")
    code, out = by_hand.attempt("python", "-c", PREPARE_MEANWHILE, *training)
    assert code == 1
    assert "are of other settings than this command's: another command has prepared them" in out
    assert not (by_hand.root / "runs/one/model").exists()
    ((code, out),) = by_hand.scripts(("train", *training))
    assert code == 0, out
    card = json.loads((by_hand.root / "data/processed/toy_questions/card.json").read_text())["card"]
    assert card["source"]["limit"] == 400


COUNT = """
import os, runpy, sys, time
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, "pipelines")
from twicetold_lab.grid import standalone
from twicetold.features.rows import CsrRows

def counted(name_of, function):
    def call(*arguments, **options):
        with open("made.log", "a") as log:
            log.write(name_of(arguments) + "\\n")
        time.sleep(1)  # long enough for the other process to see that it is not there yet
        return function(*arguments, **options)
    return call

standalone.subprocess = SimpleNamespace(run=counted(lambda given: Path(given[0][1]).stem, standalone.subprocess.run))
CsrRows.save = counted(lambda given: "rows", CsrRows.save)
Path(f"begun-{os.getpid()}").touch()
while len(list(Path().glob("begun-*"))) < 2:  # both have imported their packages
    time.sleep(0.01)
runpy.run_path("pipelines/train.py", run_name="__main__")
"""


def test_two_trainings_at_once_prepare_the_data_and_make_the_feature_rows_once(project: Lab, tmp_path: Path):
    lab = project.copy(tmp_path / "lab")
    commands = [(*TOY, *MINED, f"seed={n}", f"hydra.run.dir=runs/{n}") for n in range(2)]
    processes = [lab.start("python", "-c", COUNT, *command) for command in commands]
    printed = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(printed)
    made = (lab.root / "made.log").read_text().split()
    assert made == ["download", "prepare", "mine", "rows"]
    assert sum("another command prepares toy_questions: waiting until it has" in out for out in printed) == 1
    assert not list(lab.root.glob("**/.tmp-*")), "no lock stays"


def _write(folder: Path, number: int, times: int) -> None:
    for _ in range(times):
        with write_folder(folder) as target:
            for name in "abc":
                write_text(target / name, f"{number}")


def test_processes_that_write_one_folder_at_the_same_time_leave_one_of_theirs(tmp_path: Path):
    folder = tmp_path / "data"
    writers = [multiprocessing.get_context("fork").Process(target=_write, args=(folder, n, 100)) for n in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 8
    assert len({(folder / name).read_text() for name in "abc"}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]

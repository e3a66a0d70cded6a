"""SIGKILL at random moments: what is there is whole, and the same command run again gives the same bytes.

26 kills of stages by hand; `tests/pipeline/test_resume.py` kills `dvc repro`.
"""

import random
from dataclasses import replace

import pytest

from lab import Batch, Lab

pytestmark = pytest.mark.slow_hostile
TOY = ("data=toy_questions", "profile=smoke", "hydra.output_subdir=null", "hydra/job_logging=stdout")
RUN = (*TOY, "model=dae", "tracking.enabled=false", "hydra.run.dir=runs/one")
TRAINING = ("train", *RUN, "trainer.epochs=6", "trainer.batch_size=16", "trainer.patience=null")


def moments(seed: str, count: int) -> list[float]:
    """Moments to kill at, as shares of the time that an undisturbed run takes."""
    chance = random.Random(seed)
    return [chance.uniform(0, 1.1) for _ in range(count)]


@pytest.mark.parametrize(("stage", "root"), [("prepare", "processed"), ("mine", "triplets")])
def test_a_killed_data_stage_leaves_the_former_folder_or_none_or_a_whole_one(by_hand: Lab, stage: str, root: str):
    command, former = (stage, *TOY), f"data/{root}/toy_questions"
    whole, *ended, last = by_hand.batches(
        Batch((command,), folder=former),
        *(Batch((command,), moment, former) for moment in moments(stage, 4)),
        *(
            Batch(((*command, f"paths.{root}=data/new{n}"),), moment, f"data/new{n}/toy_questions")
            for n, moment in enumerate(moments(f"new {stage}", 4))
        ),
        Batch((command,), folder=former),
    )
    assert (whole.ends[0][0], last.ends[0][0]) == (0, 0), whole.ends + last.ends
    assert last.digest == whole.digest
    assert {batch.digest for batch in ended} <= {whole.digest, None}


def test_a_killed_training_ends_in_the_same_bytes_however_often_it_is_killed(by_hand: Lab):
    training = Batch((TRAINING,), folder="runs/one/model")
    kills = (replace(training, killed_after=at) for at in moments("training", 6))
    whole, *ended, last = by_hand.batches(training, *kills, training)
    assert (whole.ends[0][0], last.ends[0][0]) == (0, 0), whole.ends + last.ends
    assert {batch.digest for batch in ended} <= {whole.digest, None}
    assert last.digest == whole.digest is not None
    assert not list((by_hand.root / "build/checkpoints").iterdir()), "locks and checkpoints are removed"


def test_a_killed_evaluation_ends_in_the_same_bytes(by_hand: Lab):
    evaluation = Batch((("evaluate", *TRAINING[1:]),), folder="runs/one")
    kills = (replace(evaluation, killed_after=at) for at in moments("evaluation", 4))
    _, first, *_, last = by_hand.batches(Batch((TRAINING,)), evaluation, *kills, evaluation)
    assert (first.ends[0][0], last.ends[0][0]) == (0, 0), first.ends + last.ends
    assert first.digest == last.digest is not None

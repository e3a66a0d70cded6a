"""The commands of docs/guides/power-users.md: experiments, callbacks, averages, schedules, accumulation, loggers.

The tests of one lab; each command trains for two epochs on generated questions.
"""

import re

import pytest

from lab import PROJECT, TOY

DOCS = PROJECT / "docs/guides/power-users.md"
QUICK = (*TOY, "tracking.enabled=false")
MODULE = """
from hydra.experimental.callback import Callback as OfHydra
from pytorch_lightning import Callback


class Epochs(Callback):
    def __init__(self, file):
        self.file = file

    def on_train_epoch_end(self, trainer, learner):
        with open(self.file, "a") as out:
            print(trainer.current_epoch, file=out)


class Jobs(OfHydra):
    def on_job_end(self, config, job_return, **_):
        with open("jobs.txt", "a") as out:
            print(job_return.overrides, file=out)
"""


def commands():
    """The settings after `train.py` of every command of the page that trains by itself."""
    text = re.sub(r" \\\n\s*", " ", DOCS.read_text())
    found = re.findall(r"^python pipelines/train\.py ((?!-m ).*?)(?: +# .*)?$", text, re.MULTILINE)
    return [tuple(setting.strip("'") for setting in one.split()) for one in found]


@pytest.fixture(scope="module")
def lab(prepared, tmp_path_factory):
    lab = prepared.copy(tmp_path_factory.mktemp("power") / "lab")
    (lab.root / "src/my_module.py").write_text(MODULE)
    return lab


@pytest.fixture(scope="module")
def trained(lab):
    """How each command of the page ended."""
    calls = [("train", *one, *QUICK, f"hydra.run.dir=runs/{n}") for n, one in enumerate(commands())]
    return dict(zip(commands(), lab.scripts(*calls), strict=True))


def of(trained, word):
    ((code, out),) = (ended for command, ended in trained.items() if any(word in setting for setting in command))
    assert code == 0, out
    return out


def test_every_command_of_the_page_trains(trained):
    assert len(trained) >= 5
    for command, (code, out) in trained.items():
        assert code == 0, (command, out)
        assert re.search(r"toy_questions \w+-0: val auroc 0\.\d+ after 2 epochs", out), (command, out)


def test_an_experiment_chooses_the_family(trained):
    assert "toy_questions static-0: val" in of(trained, "experiment=static_ema")


def test_a_callback_of_ones_own_is_called_after_each_epoch_and_one_of_hydra_after_the_job(lab, trained):
    of(trained, "my_module.Epochs"), of(trained, "my_module.Jobs")
    assert (lab.root / "epochs.txt").read_text().split() == ["0", "1"]
    assert "model=dae" in (lab.root / "jobs.txt").read_text()

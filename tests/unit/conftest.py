"""Small trained models in folders, as `train.py` writes them, and the command as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from saved_models import save_model
from twicetold import layout
from twicetold.commands import app
from twicetold.evaluation.decision import decide
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_hashing import WordHashing
from twicetold.models.static import Static
from twicetold.models.tfidf import TfIdfCosine
from twicetold.trained.scoring import Scorer

SOURCE = Path(__file__).parents[2] / "src"
FEATURES = {"tfidf": TfIdf, "static": WordHashing}
ENCODERS = {"tfidf": TfIdfCosine, "static": Static}
SETTINGS = {"tfidf": {}, "static": {"embedding": 8, "init_std": 0.5, "input_dropout": 0.0}}


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """A database that has been through its migrations, which take seconds: each test gets a copy."""
    from twicetold_lab.tracking import Settings
    from twicetold_lab.tracking.store import open_store

    root = tmp_path_factory.mktemp("migrated")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        open_store(Settings(True, None, root, "run"), "Default")
    return root / "mlruns" / "mlflow.db"


@pytest.fixture
def run(questions, tmp_path):
    """Makes the run folder of a model of the tiny questions: `tfidf`, or `static` with weights as initialised."""

    def _run(family="tfidf"):
        featuriser = FEATURES[family]().fit(questions.texts_of("train"))
        torch.manual_seed(0)
        encoder = ENCODERS[family](**featuriser.shape, **SETTINGS[family]).eval()
        pairs, texts = questions.pairs["val"], questions.texts.to_pylist()
        sides = ([texts[row] for row in side] for side in (pairs.left, pairs.right))
        scorer = Scorer(featuriser, encoder, None)
        scorer = Scorer(featuriser, encoder, decide(scorer.score(*sides), pairs.label))
        folder = tmp_path / f"questions-{family}-0"
        data = {"name": questions.name, "train": questions.train_digest()}
        save_model(folder / layout.MODEL, scorer, settings=SETTINGS[family], data=data)
        return folder

    return _run


@pytest.fixture(scope="session")
def environment():
    """No colours, and nothing of this project's root."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TWICETOLD_TRACEBACK")}
    return {**kept, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", "COLUMNS": "200", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def process(environment, tmp_path):
    """Runs the command in an empty folder, in a process of its own."""

    def _process(*arguments, text=True, **options):
        line = [sys.executable, "-m", "twicetold", *map(str, arguments)]
        options = {"env": environment, "cwd": tmp_path, "capture_output": True, "timeout": 120, **options}
        return subprocess.run(line, text=text, check=False, **options)

    return _process


@pytest.fixture
def twicetold(environment, tmp_path, monkeypatch):
    """Runs the command in an empty folder, in this process, which has imported PyTorch already."""
    monkeypatch.chdir(tmp_path)
    shown = {name: environment[name] for name in ("NO_COLOR", "COLUMNS")}

    def _twicetold(*arguments, input=""):
        line = [*map(str, arguments)]
        done = CliRunner().invoke(app, line, input=input, env=shown)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(line, done.exit_code, done.stdout, done.stderr)

    return _twicetold

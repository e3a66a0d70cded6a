"""Small trained models in folders, as `train.py` writes them, and scripts of tools/."""

import pytest
import torch
from hydra.utils import instantiate

from twicetold import layout
from twicetold.evaluation.decision import decide
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_hashing import WordHashing
from twicetold.trained.fitted import UNTRAINED
from twicetold.trained.model_folder import save_scorer
from twicetold.trained.scoring import Scorer

FEATURES = {"tfidf": TfIdf, "static": WordHashing}
ENCODERS = {
    "tfidf": {"_target_": "twicetold.models.tfidf.TfIdfCosine"},
    "static": {"_target_": "twicetold.models.static.Static", "embedding": 8, "init_std": 0.5, "input_dropout": 0.0},
}


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
        featuriser = FEATURES[family]()
        features = {"_target_": f"{type(featuriser).__module__}.{type(featuriser).__name__}"}
        featuriser.fit(questions.texts_of("train"))
        torch.manual_seed(0)
        encoder = instantiate(ENCODERS[family], **featuriser.shape).eval()
        pairs, texts = questions.pairs["val"], questions.texts.to_pylist()
        sides = ([texts[row] for row in side] for side in (pairs.left, pairs.right))
        scorer = Scorer(featuriser, encoder, None)
        scorer = Scorer(featuriser, encoder, decide(scorer.score(*sides), pairs.label))
        folder = tmp_path / f"questions-{family}-0"
        data = {"name": questions.name, "train": questions.train_digest()}
        training = UNTRAINED | {"metric": "auroc", "best_value": 0.5}
        about = {"features": features, "settings": ENCODERS[family], "data": data, "training": training}
        save_scorer(folder / layout.MODEL, scorer, **about)
        return folder

    return _run

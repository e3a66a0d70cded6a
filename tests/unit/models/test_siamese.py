"""Siamese LSTM and CNN: the formulas, and every variant of input and encoder by configuration alone."""

from itertools import product

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import normalize

from twicetold.encoding import SparseRows
from twicetold.models.siamese_cnn import SiameseCnn
from twicetold.models.siamese_lstm import SiameseLstm
from twicetold.trained.fitted import COSINE
from twicetold.trained.model_folder import load_trained
from twicetold.trained.reading import score_pairs
from twicetold.trained.scoring import Scorer

LSTM = {
    "embedding": 6,
    "hidden": 5,
    "bidirectional": False,
    "pooling": "mean",
    "dropout": 0.0,
    "frozen": False,
    "shortcut": False,
}
CNN = {"embedding": 6, "filters": 4, "windows": [1, 3], "pooling": "max", "dropout": 0.0, "frozen": False}


def rows_of(*texts, width=9):
    offsets = torch.tensor([0, *map(len, texts)]).cumsum(0)
    return SparseRows(torch.tensor([n for text in texts for n in text], dtype=torch.int64), offsets, None, width)


def test_the_lstm_is_the_published_formula_on_the_texts_own_tokens():
    torch.manual_seed(0)
    encoder = SiameseLstm(width=9, **LSTM)
    states, _ = encoder.read.onwards(encoder.embed.weight[[3, 0, 7]])
    expected = normalize(states.mean(0), dim=0)
    torch.testing.assert_close(encoder.encode(rows_of([1], [3, 0, 7], [2] * 8)).embedding[1], expected)


def test_the_cnn_is_the_published_formula_on_the_texts_own_tokens():
    torch.manual_seed(0)
    encoder = SiameseCnn(width=9, **CNN)
    values = encoder.embed.weight[[3, 0, 7]].T[None]
    one, three = (layer.convolution for layer in encoder.convolve)
    windows = torch.cat([one(values)[0], three(torch.nn.functional.pad(values, (1, 1)))[0]])
    expected = normalize(windows.tanh().amax(1), dim=0)
    torch.testing.assert_close(encoder.encode(rows_of([1], [3, 0, 7], [2] * 8)).embedding[1], expected)


def test_a_shortcut_pools_the_vectors_of_the_tokens_beside_the_states():
    encoder = SiameseLstm(width=9, **{**LSTM, "shortcut": True}).eval()
    tokens = encoder.embed.weight[[3, 5]]
    states = encoder.read.onwards(tokens[:, None])[0][:, 0]
    expected = normalize(torch.cat([states.mean(0), tokens.mean(0)]), dim=0)
    torch.testing.assert_close(encoder.encode(rows_of([3, 5])).embedding[0], expected)


@pytest.mark.parametrize("encoder", [SiameseLstm(width=9, **LSTM), SiameseCnn(width=9, **CNN)])
def test_embeddings_have_length_one_and_texts_without_a_known_token_zero(encoder):
    lengths = encoder.encode(rows_of([1, 2], [0, 0], [], [0, 5])).embedding.norm(dim=1)
    torch.testing.assert_close(lengths, torch.tensor([1.0, 0, 0, 1]))


VARIANTS = [
    *product(["siamese_lstm"], ["words", "subwords", "characters"], [[]]),
    *product(["siamese_lstm"], ["words"], [[f"encoder.pooling={p}"] for p in ("max", "last", "attention")]),
    ("siamese_lstm", "words", ["encoder.bidirectional=true", "encoder.pooling=last", "encoder.dropout=0.2"]),
    ("siamese_lstm", "words", ["encoder.bidirectional=true", "encoder.shortcut=true", "encoder.pooling=attention"]),
    ("siamese_lstm", "words", ["objective.parts.hinges.semi_hard=true", "examples=labelled_pairs"]),
    ("siamese_cnn", "subwords", ["encoder.windows=[1,3,5]", "encoder.pooling=attention"]),
]


@pytest.mark.parametrize(("model", "features", "overrides"), VARIANTS)
def test_variants_are_chosen_by_configuration_alone(model, features, overrides, composed, news):
    cfg = composed("train", "data=toy_news", f"model={model}", f"features={features}", *overrides)
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    rows = featuriser.transform(news.texts.to_pylist())
    encoder = instantiate(cfg.encoder, **featuriser.shape).eval()
    together = encoder.encode(rows.gather(np.arange(20))).embedding
    alone = torch.cat([encoder.encode(rows.gather(np.array([i]))).embedding for i in range(20)])
    torch.testing.assert_close(together, alone)
    assert np.isfinite(score_pairs(encoder, rows, np.arange(5), np.arange(5, 10))).all()


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("bank 1 2 3\nrate -1 0 1\nfilm 0.5 0.5 0\n")
    return path


@pytest.mark.parametrize("frozen", [True, False])
def test_pretrained_vectors_are_the_first_weights_frozen_or_tuned(frozen, vectors, composed, news):
    overrides = ["features=words", f"features.vectors={vectors}", "encoder.embedding=3", f"encoder.frozen={frozen}"]
    cfg = composed("train", "data=toy_news", "model=siamese_lstm", *overrides)
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    encoder = instantiate(cfg.encoder, **featuriser.shape)
    bank = featuriser.vocabulary_.index("bank") + 1
    assert encoder.embed.weight[bank].tolist() == [1, 2, 3]
    assert encoder.embed.weight.requires_grad is not frozen


def test_a_model_with_pretrained_vectors_is_loaded_without_their_file(vectors, composed, questions, tmp_path):
    from omegaconf import OmegaConf

    from twicetold_lab.training.cell import train_cell
    from twicetold_lab.training.fit import descend
    from twicetold_lab.training.parts import Parts, Places
    from twicetold_lab.training.schedule import Runtime, Schedule

    overrides = [
        "features=words",
        f"features.vectors={vectors}",
        "encoder.embedding=3",
        "trainer.epochs=2",
        "trainer.batch_size=8",
    ]
    cfg = composed("train", "data=toy_questions", "model=siamese_lstm", "profile=full", *overrides)
    parts = Parts(
        featuriser=instantiate(cfg.features),
        encoder_of=lambda shape: instantiate(cfg.encoder, **shape),
        examples=instantiate(cfg.examples),
        objective=instantiate(cfg.objective),
        make_optimizer=instantiate(cfg.optimizer),
        schedule=Schedule(**cfg.trainer),
        selection=instantiate(cfg.evaluator).selection,
        descend=descend,
    )
    trained = train_cell(
        questions,
        parts,
        seed=0,
        feature_key="questions",
        places=Places(tmp_path / "triplets", tmp_path / "features", tmp_path / "checkpoints"),
        runtime=Runtime("cpu", workers=0, progress=False),
        on_epoch=lambda metrics, epoch: None,
    )
    plain = OmegaConf.to_container(cfg, resolve=True)
    trained.save(tmp_path / "model", features=plain["features"], encoder=plain["encoder"], data={})
    vectors.unlink()
    read = Scorer(*load_trained(tmp_path / "model")[:2], COSINE)
    left, right = ["bank rate cut", "film star"], ["rate cut", "game vote"]
    assert (
        read.score(left, right).tolist()
        == Scorer(trained.featuriser, trained.encoder, COSINE).score(left, right).tolist()
    )

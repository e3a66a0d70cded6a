"""Siamese LSTM and CNN: the formulas, and pretrained vectors."""

import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import normalize

import pair_networks
from twicetold.features.tokens import Words
from twicetold.models.siamese_cnn import SiameseCnn
from twicetold.models.siamese_lstm import SiameseLstm
from twicetold.trained.fitted import COSINE, UNTRAINED
from twicetold.trained.model_folder import load_scorer, save_scorer
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


def rows_of(*texts):
    return pair_networks.rows_of(texts)


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


def test_a_model_with_pretrained_vectors_is_loaded_without_their_file(vectors, tmp_path):
    texts = ["bank rate cut", "film star", "rate cut", "game vote"]
    featuriser = Words(vectors=f"{vectors}").fit(texts)
    sizes = {**LSTM, "embedding": 3}
    saved = Scorer(featuriser, SiameseLstm(**featuriser.shape, **sizes).eval(), COSINE)
    features = {"_target_": "twicetold.features.tokens.Words", "vectors": f"{vectors}"}
    settings = {"_target_": "twicetold.models.siamese_lstm.SiameseLstm", **sizes}
    save_scorer(tmp_path / "model", saved, features=features, settings=settings, data={}, training=UNTRAINED)
    vectors.unlink()
    loaded, sides = load_scorer(tmp_path / "model"), (texts[:2], texts[2:])
    assert loaded.score(*sides).tolist() == saved.score(*sides).tolist()

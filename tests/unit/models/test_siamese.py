"""Siamese LSTM and CNN: the formulas, and pretrained vectors."""

import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import normalize

import pair_networks
from twicetold.models.siamese_cnn import SiameseCnn
from twicetold.models.siamese_lstm import SiameseLstm

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


@pytest.mark.parametrize("encoder", [SiameseLstm(width=9, **LSTM), SiameseCnn(width=9, **CNN)])
def test_an_embedding_is_the_published_formula_on_the_texts_own_tokens(encoder):
    expected = normalize(pair_networks.embedded(encoder, [3, 0, 7]), dim=0)
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


@pytest.mark.parametrize("frozen", [True, False])
def test_pretrained_vectors_are_the_first_weights_frozen_or_tuned(frozen, tmp_path, composed, news):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("bank 1 2 3\nrate -1 0 1\nfilm 0.5 0.5 0\n")
    overrides = ["features=words", f"features.vectors={vectors}", "encoder.embedding=3", f"encoder.frozen={frozen}"]
    cfg = composed("train", "data=toy_news", "model=siamese_lstm", *overrides)
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    encoder = instantiate(cfg.encoder, **featuriser.shape)
    bank = featuriser.vocabulary_.index("bank") + 1
    assert encoder.embed.weight[bank].tolist() == [1, 2, 3]
    assert encoder.embed.weight.requires_grad is not frozen

"""Multi-perspective LSTM and CNN: the formulas, what a score may depend on, and variants by configuration alone."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import cosine_similarity

from twicetold.encoding import SparseRows
from twicetold.models.mp_cnn import MpCnn
from twicetold.models.mp_lstm import MpLstm
from twicetold.trained.reading import score_pairs

SHARED = {"embedding": 6, "dropout": 0.1, "frozen": False, "perspectives": 3, "scale": 5.0}
LSTM = {"hidden": 5, "bidirectional": True, "pooling": "mean", **SHARED}
CNN = {"filters": 4, "windows": [1, 3], "pooling": "max", **SHARED}
LEFT = [[1, 2, 3], [4], [5, 5, 1, 2, 0, 3, 7], [], [0, 0], [6, 1]]
RIGHT = [[3, 2], [4, 8, 1, 1], [2], [5], [1, 2], [0]]


def rows_of(texts, width=9):
    offsets = torch.tensor([0, *map(len, texts)]).cumsum(0)
    return SparseRows(torch.tensor([n for text in texts for n in text], dtype=torch.int64), offsets, None, width)


def encoder_of(kind):
    torch.manual_seed(0)
    encoder = (MpLstm(width=9, **LSTM) if kind == "mp_lstm" else MpCnn(width=9, **CNN)).eval()
    with torch.no_grad():  # as if something had been learnt
        encoder.decide.weight.normal_()
        encoder.decide.bias.fill_(0.3)
    return encoder


def naive_embedding(encoder, text):
    """The paper's network for one text."""
    values = encoder.embed.weight[text]
    if isinstance(encoder, MpLstm):
        forwards = encoder.read.onwards(values)[0]
        backwards = encoder.read.backwards(values.flip(0))[0].flip(0)
        return torch.cat([forwards, backwards], 1).mean(0)
    one, three = (layer.convolution for layer in encoder.convolve)
    return torch.cat([one(values.T[None])[0], three(torch.nn.functional.pad(values.T[None], (1, 1)))[0]]).tanh().amax(1)


def naive_score(encoder, left, right):
    if not any(left) or not any(right):
        return torch.zeros(())
    u, v = (naive_embedding(encoder, text) for text in (left, right))
    alike = [cosine_similarity(w * u, w * v, dim=0) for w in encoder.perspectives.weight]
    return sum(w * m for w, m in zip(encoder.decide.weight[0], alike)) + encoder.decide.bias[0]


def score(encoder, left, right):
    return encoder.score(encoder.encode(rows_of(left)), encoder.encode(rows_of(right)))


@pytest.mark.parametrize("kind", ["mp_lstm", "mp_cnn"])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(kind):
    encoder = encoder_of(kind)
    expected = torch.stack([naive_score(encoder, left, right) for left, right in zip(LEFT, RIGHT)])
    torch.testing.assert_close(score(encoder, LEFT, RIGHT), expected)
    assert torch.equal(score(encoder, LEFT, RIGHT), score(encoder, RIGHT, LEFT))
    assert expected[[3, 4, 5]].tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", ["mp_lstm", "mp_cnn"])
@pytest.mark.parametrize("sides", [([], []), ([[]], [[]])])
def test_a_batch_without_a_word_still_back_propagates(kind, sides):
    encoder = encoder_of(kind).train()
    score(encoder, *sides).sum().backward()
    assert torch.isfinite(encoder.embed.weight.grad).all()


VARIANTS = [
    *(("mp_lstm", f"features={f}", "encoder.dropout=0.0") for f in ("subwords", "characters")),
    *(("mp_lstm", "features=words", f"encoder.pooling={p}") for p in ("max", "last", "attention")),
    ("mp_cnn", "features=subwords", "encoder.windows=[1,3,5]"),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_variants_are_chosen_by_configuration_alone(variant, composed, news):
    model, features, *overrides = variant
    cfg = composed("train", "data=toy_news", f"model={model}", features, *overrides)
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    rows = featuriser.transform(news.texts.to_pylist())
    encoder = instantiate(cfg.encoder, **featuriser.shape).eval()
    left, right = np.arange(10), np.arange(10, 20)
    together = score_pairs(encoder, rows, left, right)
    alone = [score_pairs(encoder, rows, left[[i]], right[[i]])[0] for i in range(10)]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)

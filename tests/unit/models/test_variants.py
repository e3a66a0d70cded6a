"""Variants of input and encoder by configuration alone: a text or a pair has the same result whatever is beside it."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from twicetold.trained.reading import score_pairs

BIDIRECTIONAL = "encoder.bidirectional=true"
VARIANTS = [
    *(f"bimpm features={features}" for features in ("spelt_words", "words", "subwords")),
    *(f"re2 features={features}" for features in ("words", "subwords", "word_grams")),
    *(f"mp_lstm features={features} encoder.dropout=0.0" for features in ("subwords", "characters")),
    *(f"mp_lstm features=words encoder.pooling={pooling}" for pooling in ("max", "last", "attention")),
    "mp_cnn features=subwords encoder.windows=[1,3,5]",
    *(f"siamese_lstm features={features}" for features in ("words", "subwords", "characters")),
    *(f"siamese_lstm features=words encoder.pooling={pooling}" for pooling in ("max", "last", "attention")),
    f"siamese_lstm features=words {BIDIRECTIONAL} encoder.pooling=last encoder.dropout=0.2",
    f"siamese_lstm features=words {BIDIRECTIONAL} encoder.shortcut=true encoder.pooling=attention",
    "siamese_lstm features=words objective.parts.hinges.semi_hard=true examples=labelled_pairs",
    "siamese_cnn features=subwords encoder.windows=[1,3,5] encoder.pooling=attention",
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_pairs_and_texts_do_not_depend_on_their_neighbours(variant, composed, news):
    cfg = composed("train", "data=toy_news", *f"model={variant}".split())
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    rows = featuriser.transform(news.texts.to_pylist())
    encoder = instantiate(cfg.encoder, **featuriser.shape).eval()
    left, right = np.arange(10), np.arange(10, 20)
    together = score_pairs(encoder, rows, left, right)
    alone = [score_pairs(encoder, rows, left[[i]], right[[i]])[0] for i in range(10)]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    if "siamese" in variant:
        each = torch.cat([encoder.encode(rows.gather(np.array([i]))).embedding for i in range(20)])
        torch.testing.assert_close(encoder.encode(rows.gather(np.arange(20))).embedding, each)

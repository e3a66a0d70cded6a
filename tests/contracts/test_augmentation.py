"""Augmentation and consistency with every family: it trains, or says why not."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import torch

from recipes import FAMILIES
from twicetold.models.protocol import Searchable
from twicetold_lab.mining import random
from twicetold_lab.scoring.cache import fields_like, inputs_of, with_extra_texts

SETTINGS = {"augmentation": ["augmentation.share=0.5"], "consistency": ["consistency.weight=10"]}
SETTINGS["both"] = [*SETTINGS["augmentation"], *SETTINGS["consistency"]]


@pytest.mark.parametrize(("model", "feature"), list(product(FAMILIES, SETTINGS)))
def test_a_family_trains_with_it_or_says_why_not(model, feature, composed, news, parts_of, tmp_path):
    from twicetold_lab.examples.batches import EpochBatches, GatheredExamples
    from twicetold_lab.training.learner import Learner

    cfg = composed("train", "data=toy_news", f"model={model}", *SETTINGS[feature])
    if cfg.objective._target_ is None or cfg.optimizer._target_.startswith("twicetold_lab.training.solvers"):
        with pytest.raises(ValueError, match=r"set augmentation.share=0 and consistency.weight=0"):
            parts_of(cfg)
        return
    parts = parts_of(cfg)
    strategy = cfg.examples.get("strategy", "random")
    news = replace(news, texts=pa.array([text.replace(" story", ". Story") for text in news.texts.to_pylist()]))
    random.mine(news, seed=0, label="category", per_anchor=2).save(tmp_path / f"{strategy}.parquet")
    featuriser = parts.featuriser.fit(inputs_of(parts.featuriser, news, news.members["train"]))
    rows = featuriser.transform(inputs_of(featuriser, news, np.arange(len(news))))
    torch.manual_seed(0)
    encoder = parts.encoder_of(featuriser.shape)
    if feature != "augmentation" and not isinstance(encoder, Searchable):
        with pytest.raises(TypeError, match=r"reads both texts at once: set consistency\.weight=0"):
            parts.augmentation.objective(parts.objective, encoder)
        return
    index = parts.augmentation.examples(parts.examples.index(news, tmp_path), news, seed=0)
    rows = with_extra_texts(featuriser, rows, index.extra_texts, fields_like(featuriser, news, index.extra_sources))
    learner = Learner(
        encoder,
        parts.augmentation.objective(parts.objective, encoder),
        make_optimizer=partial(torch.optim.Adam),
        validate=lambda encoder: ("auroc", 0.0),
        seed=0,
    ).train()
    chosen = next(iter(EpochBatches(index, batch_size=30, seed=0)))
    loss = learner.training_step(GatheredExamples(index, rows).__getitems__(chosen), 0)
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in learner.parameters() if p.grad is not None)
    assert any(p.grad is not None and p.grad.any() for p in learner.parameters())

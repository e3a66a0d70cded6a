"""The encoder of every family keeps the contract."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hydra.utils import instantiate
from safetensors.torch import load, save

import operations
from pretended_device import on_both_devices
from recipes import FAMILIES
from twicetold.encoding import Encoding, SparseRows
from twicetold.features.rows import CsrRows
from twicetold.models.protocol import OnFrozen, Searchable
from twicetold.trained.reading import score_pairs
from twicetold_lab.mining import random
from twicetold_lab.scoring.cache import inputs_of, with_extra_texts


class RowsOn(CsrRows):
    """Feature rows that give batches on a device."""

    def gather(self, rows):
        return super().gather(rows).to("pretended")


@pytest.fixture(scope="session")
def fitted():
    """Config, fitted featuriser and feature rows of each family so far."""
    return {}


@pytest.fixture(params=FAMILIES)
def built(request, composed, news, device, fitted):
    """Encoder, featuriser and feature rows of a family on the tiny corpus, with its config."""
    if request.param not in fitted:
        cfg = composed("train", "data=toy_news", f"model={request.param}")
        featuriser = instantiate(cfg.features)
        featuriser.fit(inputs_of(featuriser, news, news.members["train"]))
        fitted[request.param] = cfg, featuriser, featuriser.transform(inputs_of(featuriser, news, np.arange(len(news))))
    cfg, featuriser, rows = fitted[request.param]
    if device.type != "cpu":
        rows = RowsOn(**vars(rows))
    torch.manual_seed(0)
    return instantiate(cfg.encoder, **featuriser.shape).to(device), featuriser, rows, cfg


def dense(encoding: Encoding) -> torch.Tensor:
    rows = encoding.embedding
    return operations.dense(rows) if isinstance(rows, SparseRows) else rows


def embed(encoder, rows, texts):
    with torch.no_grad():
        return dense(encoder.eval().encode(rows.gather(np.asarray(texts, np.int64))))


@on_both_devices
def test_one_embedding_per_text_and_one_score_per_pair(built, device):
    encoder, _, rows, _ = built
    left, right = (encoder.eval().encode(rows.gather(np.arange(a, a + 5))) for a in (0, 5))
    assert dense(left).shape[0] == 5
    assert encoder.score(left, right).shape == (5,)


def test_an_embedding_does_not_depend_on_its_batch_neighbours(built):
    encoder, _, rows, _ = built
    together = embed(encoder, rows, range(20))
    alone = torch.cat([embed(encoder, rows, [i]) for i in range(20)])
    torch.testing.assert_close(together, alone)


def test_scores_do_not_depend_on_which_text_is_left(built):
    encoder, _, rows, _ = built
    left, right = np.arange(10), np.arange(10, 20)
    np.testing.assert_allclose(score_pairs(encoder, rows, left, right), score_pairs(encoder, rows, right, left), 1e-5)


def test_a_text_is_most_like_itself(built):
    encoder, _, rows, _ = built
    same = score_pairs(encoder, rows, np.arange(20), np.arange(20))
    other = score_pairs(encoder, rows, np.arange(20), np.arange(20, 40))
    assert (same >= other - 1e-6).all()


@on_both_devices
def test_search_vectors_give_the_scores(built, device):
    encoder, _, rows, _ = built
    if not isinstance(encoder, Searchable) or not encoder.score_is_dot_product:
        pytest.skip("its scores are not dot products")
    with torch.no_grad():
        left, right = (encoder.eval().encode(rows.gather(np.arange(a, a + 9))) for a in (0, 9))
        expected = encoder.score(left, right)
        queries, documents = encoder.search_vectors(left)[0], encoder.search_vectors(right)[1]
    actual = (dense(Encoding(queries)) * dense(Encoding(documents))).sum(1)
    torch.testing.assert_close(actual, expected)


def test_a_text_without_a_known_word_scores_no_higher_than_any_other_pair_without_shared_words(built):
    encoder, featuriser, _, _ = built
    rows = featuriser.transform(["\U00013000\U00013000", "bank rate cut"])  # no vocabulary has Egyptian hieroglyphs
    score = score_pairs(encoder, rows, np.array([0]), np.array([1]))
    assert np.isfinite(score).all()
    assert score[0] == 0


def test_gradients_reach_every_parameter(built, news, tmp_path, composed, device):
    encoder, featuriser, rows, cfg = built
    if cfg.objective._target_ is None:
        if not list(encoder.parameters()):
            return
        fine_tuned = ("examples=duplicates", "objective=closest_and_mean")  # used as it is by default, but can learn
        cfg = composed("train", "data=toy_news", f"model={cfg.name}", *fine_tuned)
    from twicetold.encoding import EncodedBatch
    from twicetold_lab.examples.batches import EpochBatches, GatheredExamples

    # whichever way triplets are chosen, and whether or not examples are made of sentences
    strategy = cfg.examples.get("strategy", "random")
    news = replace(news, texts=pa.array([text.replace(" story", ". Story") for text in news.texts.to_pylist()]))
    random.mine(news, seed=0, label="category", per_anchor=2).save(tmp_path / f"{strategy}.parquet")
    index = instantiate(cfg.examples).index(news, tmp_path)
    rows = with_extra_texts(featuriser, rows, index.extra_texts)
    chosen = next(iter(EpochBatches(index, batch_size=30, seed=0)))
    batch = GatheredExamples(index, rows).__getitems__(chosen).to(device)
    encoder.train()
    sides = {s: encoder.encode(r) for s in ("anchor", "positive", "negative") if (r := getattr(batch, s)) is not None}
    objective = instantiate(cfg.objective).to(device)
    score = encoder.score(sides["anchor"], sides["positive"]) if objective.needs_score else None
    labels = {name: getattr(batch, name) for name in ("label", "group", "positive_group", "negative_group")}
    views = len(featuriser.shape.get("bounds", [0, 0])) - 1  # which the objective may train in turns
    encoded = EncodedBatch(**sides, **labels, score=score)
    torch.stack([objective(encoded)["loss"] for _ in range(views)]).sum().backward()
    for name, parameter in encoder.named_parameters():
        if not parameter.requires_grad:
            assert isinstance(encoder, OnFrozen), name
            continue
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_state_survives_safetensors(built, device):
    encoder, featuriser, rows, cfg = built
    torch.manual_seed(1)
    other = instantiate(cfg.encoder, **featuriser.shape).to(device)
    other.load_state_dict(load(save({name: value.cpu() for name, value in encoder.state_dict().items()})))
    assert torch.equal(embed(encoder, rows, range(9)), embed(other, rows, range(9)))

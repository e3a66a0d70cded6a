"""Encoding in chunks: the same gradients as in one go, with the memory of one chunk."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from twicetold.encoding import EncodedBatch, Encoding, LinearLogits, Reconstruction
from twicetold.features.bag_of_words import BagOfWords
from twicetold.models.dssm import Dssm
from twicetold_lab.examples.batches import EpochBatches, GatheredExamples, train_loader
from twicetold_lab.examples.labelled import LabelledPairs
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.training.fit import fit
from twicetold_lab.training.gradient_caching import encode_in_chunks
from twicetold_lab.training.learner import Learner
from twicetold_lab.training.schedule import Runtime, Schedule


def features_of(corpus):
    return BagOfWords().fit(corpus.texts_of("train")).transform(corpus.texts.to_pylist())


def dssm(width, **changes):
    torch.manual_seed(0)
    settings = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0, "shared": True}
    return Dssm(width=width, hidden=[6, 5], embedding=4, **{**settings, **changes})


def objective():
    return InfoNce(temperature=0.1, symmetric=True)


def batch_of(corpus, rows):
    index = LabelledPairs(strategy="random", group="cluster").index(corpus, Path())
    batch = GatheredExamples(index, rows).__getitems__(np.arange(23))
    return replace(batch, **{side: doubled(getattr(batch, side)) for side in ("anchor", "positive")})


def doubled(features):
    return replace(features, values=None if features.values is None else features.values.double())


def gradients(corpus, encode, **changes):
    """Loss, and gradients of all parameters, of one batch in float64."""
    rows = features_of(corpus)
    encoder = dssm(rows.width, **changes).double().train()
    batch = batch_of(corpus, rows)
    torch.manual_seed(1)
    anchor, positive = (encode(encoder, side) for side in (batch.anchor, batch.positive))
    losses = objective()(
        EncodedBatch(anchor, positive, label=batch.label, group=batch.group, positive_group=batch.positive_group)
    )
    losses["loss"].backward()
    return [losses["loss"].detach(), *(parameter.grad for parameter in encoder.parameters())]


def in_one_go(encoder, features):
    return encoder.encode(features)


def in_chunks(rows):
    return partial(encode_in_chunks, rows=rows)


@pytest.mark.parametrize("rows", [1, 5, 23, 100])
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_equal_those_of_one_go(questions, rows, shared):
    expected = gradients(questions, in_one_go, shared=shared)
    assert expected[0] > 0.1
    torch.testing.assert_close(gradients(questions, in_chunks(rows), shared=shared), expected, rtol=1e-9, atol=1e-12)


NOISE = {"dropout": 0.4, "input_dropout": 0.3}


def test_the_second_encoding_draws_the_dropout_of_the_first(questions, monkeypatch):
    cached = gradients(questions, in_chunks(5), **NOISE)
    monkeypatch.setattr("twicetold_lab.training.gradient_caching.checkpoint", lambda f, *x, **_: f(*x))  # keep graphs
    expected = gradients(questions, in_chunks(5), **NOISE)
    torch.testing.assert_close(cached, expected, rtol=1e-9, atol=1e-12)
    assert expected[0] != gradients(questions, in_chunks(5))[0]


def test_dropout_in_a_single_chunk_equals_one_go(questions):
    expected = gradients(questions, in_one_go, **NOISE)
    torch.testing.assert_close(gradients(questions, in_chunks(23), **NOISE), expected, rtol=1e-9, atol=1e-12)


def test_a_chunk_is_encoded_twice_and_its_activations_are_gone_before_the_next(questions):
    events = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, embedding, number):
            ctx.number = number
            events.append(("encoded", number))
            ctx.save_for_backward(embedding)
            return embedding.clone()

        @staticmethod
        def backward(ctx, outer):
            (_,) = ctx.saved_tensors
            events.append(("propagated", ctx.number))
            return outer, None

    numbers = {}

    def watch(encoder, side):
        encode = encoder.encode

        def watched(features):
            assert len(features) <= 6
            number = numbers.setdefault(features.indices.data_ptr(), len(numbers))
            return Encoding(Watched.apply(encode(features).embedding, number))

        encoder.encode = watched
        try:
            return encode_in_chunks(encoder, side, 6)
        finally:
            encoder.encode = encode

    gradients(questions, watch)
    forward, back = events[:8], events[8:]
    assert forward == [("encoded", number) for number in range(8)]
    # encoded again, and propagated at once
    assert [name for name, _ in back] == ["encoded", "propagated"] * 8
    assert back[0::2] == [("encoded", number) for _, number in back[1::2]]


def test_an_empty_batch_has_empty_embeddings(questions):
    rows = features_of(questions)
    encoder = dssm(rows.width)
    assert encode_in_chunks(encoder, rows.gather(np.arange(0)), 4).embedding.shape == (0, 4)


def test_batch_normalisation_is_refused(questions):
    rows = features_of(questions)
    with pytest.raises(ValueError, match=r"encoder.batch_norm=false, or trainer.micro_batch=null"):
        encode_in_chunks(dssm(rows.width, batch_norm=True), rows.gather(np.arange(6)), 4)


def test_by_products_that_are_not_rows_are_refused(questions):
    rows = features_of(questions)

    class Reconstructing(Dssm):
        def encode(self, features):
            embedding = super().encode(features).embedding
            return Encoding(
                embedding, Reconstruction(LinearLogits(embedding, torch.ones(9, 4), torch.ones(9)), features)
            )

    settings = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0, "shared": True}
    encoder = Reconstructing(width=rows.width, hidden=[3], embedding=4, **settings)
    with pytest.raises(ValueError, match=r"logits .* got LinearLogits.*trainer.micro_batch=null"):
        encode_in_chunks(encoder, rows.gather(np.arange(6)), 4)


def trained(corpus, folder, micro_batch, precision="32-true"):
    rows = features_of(corpus)
    index = LabelledPairs(strategy="random", group="cluster").index(corpus, Path())
    encoder = dssm(rows.width)
    learner = Learner(
        encoder,
        objective(),
        make_optimizer=partial(torch.optim.SGD, lr=0.1),
        validate=lambda encoder: ("auroc", 0.5),
        seed=3,
        schedule=Schedule(epochs=2, batch_size=16, gradient_clip=1.0, precision=precision, micro_batch=micro_batch),
    )
    fit(
        learner,
        train_loader(index, rows, EpochBatches(index, batch_size=16, seed=3), workers=0),
        runtime=Runtime("cpu", workers=0, progress=False),
        checkpoints=folder,
        on_epoch=lambda metrics, epoch: None,
    )
    return encoder.state_dict()


def test_a_training_in_chunks_ends_at_the_weights_of_one_in_one_go(questions, tmp_path):
    whole, chunked = (trained(questions, tmp_path / str(rows), rows) for rows in (None, 3))
    torch.testing.assert_close(chunked, whole, rtol=1e-4, atol=1e-6)
    before = dssm(features_of(questions).width).state_dict()
    assert not torch.allclose(before["query.hashing.weight"], whole["query.hashing.weight"])


def test_a_training_in_chunks_runs_in_mixed_precision(questions, tmp_path):
    assert all(torch.isfinite(weight).all() for weight in trained(questions, tmp_path, 3, "bf16-mixed").values())

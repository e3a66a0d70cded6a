"""Pretrained static vectors: what is trained, what they start from, what each token adds."""

import numpy as np
import pytest
import torch

from twicetold.encoding import SparseRows
from twicetold.models.pretrained_static import PretrainedStatic
from twicetold_lab.training.adam_by_rows import AdamByRows

MODES = ("table", "low_rank", "token_weights")
VECTORS = np.pad(3 * np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32), ((1, 0), (0, 0)))


def encoder_of(trained="table", *, embedding=8, init="pretrained", vectors=VECTORS):
    torch.manual_seed(0)
    settings = {"embedding": embedding, "init": init, "trained": trained, "rank": 3, "input_dropout": 0.0}
    return PretrainedStatic(width=31, vectors=vectors, **settings)


def batch(seed=0, texts=6, weighted=False):
    """Texts of four tokens, unknown ones among them."""
    random = torch.Generator().manual_seed(seed)
    indices = torch.randint(31, (4 * texts,), generator=random)
    indices[::7] = 0
    values = torch.rand(4 * texts, generator=random) if weighted else None
    return SparseRows(indices, torch.arange(0, 4 * texts + 1, 4), values, 31)


def of_each_token(encoder):
    return encoder.encode(SparseRows(torch.arange(31), torch.arange(32), None, 31)).embedding


def trained_with(optimizer, encoder, steps=20):
    optimizer = optimizer(encoder.parameters(), lr=0.05)
    for step in range(steps):
        left, right = (encoder.encode(batch(2 * step + side)).embedding for side in (0, 1))
        optimizer.zero_grad()
        torch.nn.functional.cosine_similarity(left, right).sum().backward()
        optimizer.step()
    if isinstance(optimizer, AdamByRows):
        optimizer.release()
    return encoder.eval()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trained", MODES)
def test_before_training_an_embedding_is_the_sum_of_the_pretrained_vectors(trained, weighted):
    rows = batch(weighted=weighted)
    expected = (VECTORS[rows.indices] * rows.values_or_ones().numpy()[:, None]).reshape(6, 4, 8).sum(1)
    found = encoder_of(trained).encode(rows).embedding.detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("trained", MODES)
def test_lazy_updates_train_the_same_model(trained):
    plain, lazy = (trained_with(each, encoder_of(trained)) for each in (torch.optim.Adam, AdamByRows))
    assert not torch.allclose(of_each_token(plain), of_each_token(encoder_of(trained)), atol=1e-3)
    torch.testing.assert_close(of_each_token(lazy), of_each_token(plain), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("trained", MODES)
def test_what_each_token_adds_makes_the_embedding_after_training_and_the_unknown_token_adds_nothing(trained):
    encoder, rows = trained_with(torch.optim.Adam, encoder_of(trained)), batch(99)
    maps = of_each_token(encoder)
    assert not maps[0].any()
    expected = maps[rows.indices].reshape(6, 4, 8).sum(1)
    torch.testing.assert_close(encoder.encode(rows).embedding, expected, rtol=1e-4, atol=1e-4)


def test_only_what_is_trained_changes():
    for trained, names in [("low_rank", {"change", "directions"}), ("token_weights", {"log_weight"})]:
        encoder = trained_with(torch.optim.Adam, encoder_of(trained))
        assert {name for name, _ in encoder.named_parameters()} == names
        np.testing.assert_array_equal(encoder.table, VECTORS)


def test_a_random_start_has_the_spread_of_the_vectors_and_none_of_their_numbers():
    table = encoder_of(init="random").table.detach().numpy()
    assert not table[0].any()
    assert table[1:].std() == pytest.approx(VECTORS[1:].std(), rel=0.15)
    assert abs(np.corrcoef(table[1:].ravel(), VECTORS[1:].ravel())[0, 1]) < 0.3


def test_the_first_dimensions_can_be_kept():
    found = encoder_of(embedding=5).encode(batch()).embedding
    assert torch.equal(found, encoder_of().encode(batch()).embedding[:, :5])


def test_dropped_tokens_change_the_embedding_in_training_alone():
    encoder = encoder_of()
    encoder.input_dropout = 0.5
    whole = encoder_of().encode(batch()).embedding
    assert not torch.equal(encoder.encode(batch()).embedding, whole)
    assert torch.equal(encoder.eval().encode(batch()).embedding, whole)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"embedding": 9}, "have 8 dimensions, and the encoder wants 9: set encoder.embedding=8 or less"),
        ({"init": "zeros"}, "expected pretrained or random as encoder.init, got 'zeros'"),
        ({"trained": "all"}, "expected table, low_rank or token_weights as encoder.trained, got 'all'"),
    ],
)
def test_what_there_is_not_is_refused_in_words(settings, reason):
    with pytest.raises(ValueError, match=reason):
        encoder_of(**settings)

"""RE2: each layer against the paper's formula, and what a pair's score may depend on."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from torch.nn.functional import cosine_similarity, gelu, pad

from twicetold.encoding import SparseRows
from twicetold.models.re2 import Fusion, Re2
from twicetold.trained.reading import score_pairs

SMALL = {"embedding": 6, "init_std": 0.4, "hidden": 5, "layers": 2, "window": 3, "dropout": 0.2, "scale": 5.0}
GIVEN = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32) * (np.arange(9) % 3 > 0)[:, None]
LEFT = [[1, 2, 3], [4], [5, 5, 1, 2, 0, 3, 7], [], [0, 0], [6, 1]]
RIGHT = [[3, 2], [4, 8, 1, 1], [2], [5], [1, 2], [0]]


def rows_of(texts, width=9):
    offsets = torch.tensor([0, *map(len, texts)]).cumsum(0)
    return SparseRows(torch.tensor([n for text in texts for n in text], dtype=torch.int64), offsets, None, width)


def encoder_of(blocks=2, **further):
    torch.manual_seed(0)
    encoder = Re2(width=9, blocks=blocks, **SMALL | further).eval()
    with torch.no_grad():  # as if something had been learnt
        for parameter in (encoder.table, encoder.mark):
            parameter.normal_()
    return encoder


def score(encoder, left, right):
    return encoder.score(encoder.encode(rows_of(left)), encoder.encode(rows_of(right)))


def naive_score(encoder, left, right):
    """RE2 as the paper writes it, for one pair, word by word."""
    if not any(left) or not any(right):
        return torch.zeros(())
    table = encoder.table.clone()
    table[0] = 0
    texts = [(left, right), (right, left)]
    marked = [table[own] + torch.tensor([[w in other and w > 0] for w in own]) * encoder.mark for own, other in texts]
    embedded = [torch.cat([values, encoder.given[own]], 1) for values, (own, _) in zip(marked, texts)]
    inputs, outputs = embedded, []
    for block in encoder.blocks:
        values = []
        for x in inputs:
            c = x
            for layer in block.encoder:
                c = gelu(layer.convolution(pad(c.T[None], (1, 1)))[0].T)
            values.append(torch.cat([x, c], 1))
        keys = [gelu(block.align.project(z)) for z in values]
        fused = []
        for own in (0, 1):
            weights = torch.stack([(block.align.temperature * keys[1 - own] @ key).softmax(0) for key in keys[own]])
            z, aligned = values[own], weights @ values[1 - own]
            layers = [block.fuse.together, block.fuse.difference, block.fuse.product]
            pairs = [(z, aligned), (z, z - aligned), (z, z * aligned)]
            parts = [gelu(layer(torch.cat(pair, 1))) for layer, pair in zip(layers, pairs)]
            fused.append(gelu(block.fuse.project(torch.cat(parts, 1))))
        outputs.append(fused)
        earlier = outputs[0] if len(outputs) == 1 else [(a + b) / 2**0.5 for a, b in zip(*outputs[-2:])]
        inputs = [torch.cat(both, 1) for both in zip(embedded, earlier)]
    u, v = (torch.cat([o.amax(0), o.mean(0)]) for o in outputs[-1])
    compared = encoder.predict(torch.cat([u + v, (u - v).abs(), u * v])).squeeze()
    return encoder.scale * cosine_similarity(*(table[text].mean(0) for text in (left, right)), dim=0) + compared


@pytest.mark.parametrize("given", [{}, {"given": 2, "vectors": GIVEN}], ids=["learnt", "learnt and given"])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(blocks, given):
    encoder = encoder_of(blocks, **given)
    expected = torch.stack([naive_score(encoder, left, right) for left, right in zip(LEFT, RIGHT)])
    torch.testing.assert_close(score(encoder, LEFT, RIGHT), expected)


def test_gradients_are_those_of_the_formula():
    encoder = encoder_of()
    parameters = list(encoder.parameters())
    naive = torch.stack([naive_score(encoder, left, right) for left, right in zip(LEFT, RIGHT)])
    expected = torch.autograd.grad((naive * torch.arange(1, 7)).sum(), parameters)
    actual = torch.autograd.grad((score(encoder, LEFT, RIGHT) * torch.arange(1, 7)).sum(), parameters)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sides", [([], []), ([[]], [[]])])
def test_a_batch_without_a_word_still_back_propagates(sides):
    encoder = encoder_of().train()
    score(encoder, *sides).sum().backward()
    assert torch.isfinite(encoder.table.grad).all()


def test_fusion_is_three_layers_of_joined_features_and_a_fourth_of_what_they_give():
    torch.manual_seed(0)
    fuse, (z, aligned) = Fusion(4, 3, dropout=0.5).double().eval(), torch.randn(2, 7, 4, dtype=torch.float64)
    together = gelu(fuse.together(torch.cat([z, aligned], 1)))
    difference = gelu(fuse.difference(torch.cat([z, z - aligned], 1)))
    product = gelu(fuse.product(torch.cat([z, z * aligned], 1)))
    expected = gelu(fuse.project(torch.cat([together, difference, product], 1)))
    torch.testing.assert_close(fuse(z, aligned), expected)


def test_a_word_is_its_column_and_those_of_its_n_grams_and_is_marked_where_both_texts_have_it():
    encoder = encoder_of(counts=np.ones(4, np.int64))  # columns 0 to 3 are words, 4 to 8 n-grams
    # Words: [1 with 4, 5], [unknown with 6, 7], [3]; and [unknown with 6, 7], [unknown with 7, 8].
    left = encoder.encode(rows_of([[1, 4, 5, 0, 6, 7, 3]]))
    right = encoder.encode(rows_of([[0, 6, 7, 0, 7, 8]]))
    vectors = left.extra.vectors
    torch.testing.assert_close(vectors, torch.stack([encoder.table[part].sum(0) for part in ([1, 4, 5], [6, 7], [3])]))
    one, other = left.extra.identity.tolist(), right.extra.identity.tolist()
    assert one[1] == other[0]
    assert len({*one, *other}) == 4


def test_other_words_of_the_same_pair_or_the_same_word_of_another_pair_get_no_mark():
    encoder = encoder_of()
    with torch.no_grad():
        encoder.mark.zero_()
    plain = score(encoder, [[1, 2], [3]], [[3], [1, 2]])
    torch.nn.init.ones_(encoder.mark)
    assert torch.equal(plain, score(encoder, [[1, 2], [3]], [[3], [1, 2]]))


def test_given_vectors_of_another_size_are_refused_with_what_to_set():
    with pytest.raises(ValueError, match=r"2 dimensions for each of 9 words, .* wants 50 .* set encoder.given=2"):
        encoder_of(given=50, vectors=GIVEN)


def test_given_vectors_are_saved_and_not_trained():
    encoder = encoder_of(given=2, vectors=GIVEN)
    assert "given" not in dict(encoder.named_parameters())
    loaded = encoder_of(given=2)
    loaded.load_state_dict(encoder.state_dict())
    assert torch.equal(score(encoder, LEFT, RIGHT), score(loaded, LEFT, RIGHT))


def test_a_word_that_train_lacks_begins_at_zero_and_its_n_grams_do_not():
    torch.manual_seed(0)
    table = Re2(width=9, blocks=1, counts=np.array([0, 3, 0, 1]), **SMALL).table
    assert [bool(row.any()) for row in table] == [False, True, False, True, *[True] * 5]


@pytest.mark.parametrize("features", ["words", "subwords", "word_grams"])
def test_any_sequence_will_do(features, composed, news):
    cfg = composed("train", "data=toy_news", "model=re2", f"features={features}")
    featuriser = instantiate(cfg.features).fit(news.texts_of("train"))
    rows = featuriser.transform(news.texts.to_pylist())
    encoder = instantiate(cfg.encoder, **featuriser.shape).eval()
    left, right = np.arange(10), np.arange(10, 20)
    together = score_pairs(encoder, rows, left, right)
    alone = [score_pairs(encoder, rows, left[[i]], right[[i]])[0] for i in range(10)]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)

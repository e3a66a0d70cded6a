"""RE2: each layer against the paper's formula, and what a pair's score may depend on."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity, gelu, pad

from pair_networks import (
    LEFT,
    RIGHT,
    assert_is_formula,
    rows_of,
    score,
)
from twicetold.layers import alignment
from twicetold.models.re2 import Re2

SMALL = {"embedding": 6, "init_std": 0.4, "hidden": 5, "layers": 2, "window": 3, "dropout": 0.2, "scale": 5.0}
GIVEN = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32) * (np.arange(9) % 3 > 0)[:, None]


def encoder_of(blocks=2, **further):
    torch.manual_seed(0)
    encoder = Re2(width=9, blocks=blocks, **SMALL | further).eval()
    with torch.no_grad():  # as if something had been learnt
        for parameter in (encoder.table, encoder.mark):
            parameter.normal_()
    return encoder


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


@pytest.mark.parametrize("group", [1, 3, 64])
@pytest.mark.parametrize("given", [{}, {"given": 2, "vectors": GIVEN}], ids=["learnt", "learnt and given"])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_score_is_the_published_formula_whatever_pairs_are_beside_it(blocks, given, group, monkeypatch):
    monkeypatch.setattr(alignment, "GROUP", group)
    assert_is_formula(encoder_of(blocks, **given), naive_score)


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

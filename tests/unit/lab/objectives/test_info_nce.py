"""The in-batch softmax against naive loops, the cross-entropy of torch, and the formulas of the papers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from operations import Operations
from pair_batches import batch
from twicetold.encoding import EncodedBatch, Encoding
from twicetold_lab.objectives.in_batch import candidates
from twicetold_lab.objectives.info_nce import InfoNce, _drawn


def nce(**changes):
    return InfoNce(**{"temperature": 0.1, **changes})


def naive(encoded, gamma, negatives=None, symmetric=False, dot=False, different_pairs=True):
    """Sum over views of the mean over rows with label 1 of −log P, with a loop for everything."""

    def vectors(encoding, role, view):
        return encoding.embedding if encoding.extra is None else getattr(encoding.extra, role)[:, view]

    def cos(a, b):
        return (a @ b).item() if dot else cosine_similarity(a, b, dim=0).item()

    def one_way(q, d, n, stands):
        size, terms = len(q), []
        for i in range(size):
            if not same[i]:
                continue
            weights = [math.exp(gamma * cos(q[i], d[i]))]
            weights += [math.exp(gamma * cos(q[i], d[j])) for j in range(size) if j != i and stands(i, j)]
            weights += [math.exp(gamma * cos(q[k], d[k])) for k in range(size) if different_pairs and not same[k]]
            if n is not None:
                weights += [math.exp(gamma * cos(q[i], n[k])) for k in range(len(n)) if mined_stands(i, k)]
            terms.append(-math.log(weights[0] / sum(weights)))
        return sum(terms) / max(len(terms), 1)

    size = len(encoded.anchor.embedding)
    same = [True] * size if encoded.label is None else (encoded.label == 1).tolist()

    def stands(i, j):
        group, other = encoded.group, encoded.positive_group
        kin = group is not None and group[i] != -1 and group[i] == other[j]
        return not kin and (negatives is None or (j - i) % size <= negatives)

    def mined_stands(i, j):
        group, other = encoded.group, encoded.negative_group
        kin = group is not None and group[i] != -1 and group[i] == other[j]
        return j % size == i or (negatives is None and not kin)

    total = 0.0
    for view in range(1 if encoded.anchor.extra is None else encoded.anchor.extra.query.shape[1]):
        q, d = vectors(encoded.anchor, "query", view), vectors(encoded.positive, "document", view)
        n = None if encoded.negative is None else vectors(encoded.negative, "document", view)
        forth = one_way(q, d, n, stands)
        back = one_way(d, q, None, lambda i, j: stands(j, i))
        total += (forth + back) / 2 if symmetric else forth
    return total


@given(
    size=st.integers(1, 7),
    seed=st.integers(0, 1000),
    labels=st.booleans(),
    groups=st.booleans(),
    mined=st.integers(0, 3),
    views=st.sampled_from([None, 1, 3]),
    negatives=st.sampled_from([None, 1, 3]),
    symmetric=st.booleans(),
    dot=st.booleans(),
    different=st.booleans(),
)
def test_the_loss_equals_naive_loops(size, seed, labels, groups, mined, views, negatives, symmetric, dot, different):
    encoded = batch(size, seed, labels=labels, groups=groups, mined=mined, views=views)
    similarity = "dot" if dot else "cosine"
    objective = nce(
        temperature=1 / 7, similarity=similarity, negatives=negatives, symmetric=symmetric, different_pairs=different
    )
    assert objective(encoded)["loss"].item() == pytest.approx(naive(encoded, 7, negatives, symmetric, dot, different))


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("mined", [False, True])
def test_plain_pairs_give_the_cross_entropy_of_torch(similarity, symmetric, mined):
    encoded = batch(9, 3, labels=False, groups=False, mined=int(mined))
    sides = [s.embedding for s in (encoded.anchor, encoded.positive, encoded.negative) if s is not None]
    anchor, *others = [normalize(s, dim=1) for s in sides] if similarity == "cosine" else sides
    own = torch.arange(9)
    expected = cross_entropy(anchor @ torch.cat(others).T / 0.2, own)
    if symmetric:
        expected = (expected + cross_entropy(others[0] @ anchor.T / 0.2, own)) / 2
    found = nce(temperature=0.2, similarity=similarity, symmetric=symmetric)(encoded)["loss"]
    assert found.item() == pytest.approx(expected.item())
    ours, theirs = (torch.autograd.grad(loss, sides) for loss in (found, expected))
    torch.testing.assert_close(ours, theirs)


def test_the_batch_is_never_compared_in_one_piece():
    size = 2048
    sides = torch.randn(2, size, 8)
    encoded = EncodedBatch(*(Encoding(s.requires_grad_()) for s in sides), group=torch.arange(size) // 3)
    with Operations() as operations:
        nce(symmetric=True, negatives=5)(encoded)["loss"].backward()
    assert operations.numbers <= 1 << 19 < size * size


@given(size=st.integers(1, 9), seed=st.integers(0, 1000), count=st.integers(1, 9), mined=st.integers(0, 1))
def test_drawn_negatives_are_of_other_clusters_and_as_many_as_asked_for_or_there_are(size, seed, count, mined):
    encoded = batch(size, seed, labels=False, mined=mined)
    everything = nce(negatives=None if mined else size)(encoded)["loss"].item()
    rows = candidates(encoded, unit_length=True)
    eligible = rows.masks(slice(0, size))[1]
    drawn = _drawn(eligible, rows, slice(0, size), count)
    assert not (drawn & ~eligible).any()
    others = eligible[:, :size].sum(1)
    assert drawn[:, :size].sum(1).tolist() == others.clamp(max=count).tolist()
    if mined:
        assert torch.equal(drawn[:, size:], torch.eye(size, dtype=torch.bool) & eligible[:, size:])
    elif count >= size:
        assert nce(negatives=count, drawn=True)(encoded)["loss"].item() == pytest.approx(everything)


def test_every_negative_is_drawn_equally_often():
    encoded = batch(9, 0, labels=False, groups=False, mined=0)
    rows, every = candidates(encoded, unit_length=True), slice(0, 9)
    torch.manual_seed(0)
    counts = sum(_drawn(rows.masks(every)[1], rows, every, 4).float() for _ in range(1000))
    assert (counts.fill_diagonal_(500) - 500).abs().max() < 75  # 4.7 standard deviations


@pytest.mark.parametrize("size", [0, 4])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_batch_without_a_positive_gives_a_zero_that_back_propagates(size, symmetric):
    encoded = batch(size, 0)
    none = EncodedBatch(encoded.anchor, encoded.positive, encoded.negative, label=torch.zeros(size))
    loss = nce(symmetric=symmetric)(none)["loss"]
    loss.backward()
    assert loss.item() == 0
    assert encoded.anchor.embedding.grad.shape == (size, 4)
    assert not encoded.anchor.embedding.grad.any()


def test_rows_with_an_empty_text_teach_nothing():
    encoded = batch(4, 0, labels=False, groups=False, mined=0)
    with torch.no_grad():
        encoded.positive.embedding[2] = 0
    nce()(encoded)["loss"].backward()
    assert not encoded.anchor.embedding.grad[2].any()
    assert encoded.anchor.embedding.grad[[0, 1, 3]].any(1).all()
    assert torch.isfinite(encoded.positive.embedding.grad).all()


def test_sums_are_made_in_32_bits():
    encoded = EncodedBatch(*(Encoding(torch.randn(4, 3).bfloat16()) for _ in range(2)))
    assert nce()(encoded)["loss"].dtype == torch.float32

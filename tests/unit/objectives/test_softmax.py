"""The softmax over cosines against naive loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity, normalize

from twicetold.encoding import EncodedBatch, Encoding, SparseRows
from twicetold.objectives.softmax import Softmax


def side(size, seed, views=None):
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(size, 3, generator=generator, dtype=torch.float64).requires_grad_()
    if views is None:
        return Encoding(embedding)
    roles = (torch.randn(size, views, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    query, document = (role.requires_grad_() for role in roles)
    return Encoding(embedding, {"query": query, "document": document})


def batch(size, seed, *, labels=True, groups=True, negative=False, views=None):
    random = torch.Generator().manual_seed(seed)
    group, positive_group = torch.randint(-1, 4, (2, size), generator=random)
    return EncodedBatch(
        anchor=side(size, seed, views),
        positive=side(size, seed + 1, views),
        negative=side(size, seed + 2, views) if negative else None,
        label=torch.randint(0, 2, (size,), generator=random).float() if labels else None,
        group=group if groups else None,
        positive_group=positive_group if groups else None,
    )


def naive(encoded, gamma, negatives=None, symmetric=False):
    """Sum over views of the mean over rows with label 1 of −log P, with a loop for everything."""

    def vectors(encoding, role, view):
        return encoding.embedding if role not in encoding.extras else encoding.extras[role][:, view]

    def cos(a, b):
        return cosine_similarity(a, b, dim=0).item()

    def one_way(q, d, n, stands):
        size, terms = len(q), []
        for i in range(size):
            if not same[i]:
                continue
            weights = [math.exp(gamma * cos(q[i], d[i]))]
            weights += [math.exp(gamma * cos(q[i], d[j])) for j in range(size) if j != i and stands(i, j)]
            weights += [math.exp(gamma * cos(q[k], d[k])) for k in range(size) if not same[k]]
            if n is not None:
                weights.append(math.exp(gamma * cos(q[i], n[i])))
            terms.append(-math.log(weights[0] / sum(weights)))
        return sum(terms) / max(len(terms), 1)

    size = len(encoded.anchor.embedding)
    same = [True] * size if encoded.label is None else (encoded.label == 1).tolist()

    def stands(i, j):
        group, other = encoded.group, encoded.positive_group
        kin = group is not None and group[i] != -1 and group[i] == other[j]
        return not kin and (negatives is None or (j - i) % size <= negatives)

    total = 0.0
    for view in range(encoded.anchor.extras["query"].shape[1] if encoded.anchor.extras else 1):
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
    negative=st.booleans(),
    views=st.sampled_from([None, 1, 3]),
    negatives=st.sampled_from([None, 1, 3]),
    symmetric=st.booleans(),
)
def test_the_loss_equals_naive_loops(size, seed, labels, groups, negative, views, negatives, symmetric):
    encoded = batch(size, seed, labels=labels, groups=groups, negative=negative, views=views)
    objective = Softmax(gamma=7, negatives=negatives, symmetric=symmetric)
    assert objective(encoded)["loss"].item() == pytest.approx(naive(encoded, 7, negatives, symmetric))


def test_one_positive_and_one_negative_by_hand():
    axes = torch.eye(2, dtype=torch.float64)
    encoded = EncodedBatch(Encoding(axes[:1]), Encoding(axes[:1]), Encoding(axes[1:]))
    loss = Softmax(gamma=10, negatives=None, symmetric=False)(encoded)["loss"]
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-10)))


def test_duplicates_of_an_anchor_are_not_its_negatives():
    one = Encoding(torch.ones(2, 3))
    group = torch.tensor([5, 5])
    kin = EncodedBatch(one, one, group=group, positive_group=group)
    objective = Softmax(gamma=10, negatives=None, symmetric=True)
    assert objective(kin)["loss"].item() == 0
    strangers = EncodedBatch(one, one, group=torch.tensor([-1, -1]), positive_group=torch.tensor([-1, -1]))
    assert objective(strangers)["loss"].item() == pytest.approx(math.log(2))


def test_a_pair_with_label_0_is_pushed_apart_and_pairs_with_label_1_together():
    anchor, positive = side(6, 0), side(6, 1)
    label, kin = torch.tensor([1.0, 0, 1, 0, 1, 1]), torch.zeros(6, dtype=torch.int64)  # no negatives but labelled ones
    encoded = EncodedBatch(anchor, positive, label=label, group=kin, positive_group=kin)
    Softmax(gamma=10, negatives=None, symmetric=False)(encoded)["loss"].backward()
    step = anchor.embedding.detach() - 1e-4 * normalize(anchor.embedding.grad, dim=1)
    change = cosine_similarity(step, positive.embedding) - cosine_similarity(anchor.embedding, positive.embedding)
    assert ((change > 0) == (label == 1)).all()


@pytest.mark.parametrize("size", [0, 4])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_batch_without_a_positive_gives_a_zero_that_back_propagates(size, symmetric):
    encoded = batch(size, 0, negative=True)
    none = EncodedBatch(encoded.anchor, encoded.positive, encoded.negative, label=torch.zeros(size))
    loss = Softmax(gamma=10, negatives=None, symmetric=symmetric)(none)["loss"]
    loss.backward()
    assert loss.item() == 0
    assert encoded.anchor.embedding.grad.shape == (size, 3)
    assert not encoded.anchor.embedding.grad.any()


def test_rows_with_an_empty_text_teach_nothing():
    encoded = batch(4, 0, labels=False, groups=False)
    with torch.no_grad():
        encoded.positive.embedding[2] = 0
    Softmax(gamma=10, negatives=None, symmetric=False)(encoded)["loss"].backward()
    assert not encoded.anchor.embedding.grad[2].any()
    assert encoded.anchor.embedding.grad[[0, 1, 3]].any(1).all()
    assert torch.isfinite(encoded.positive.embedding.grad).all()


def test_sums_are_made_in_32_bits():
    encoded = EncodedBatch(*(Encoding(torch.randn(4, 3).bfloat16()) for _ in range(2)))
    assert Softmax(gamma=10, negatives=None, symmetric=False)(encoded)["loss"].dtype == torch.float32


def test_a_batch_without_right_texts_names_the_examples_that_have_them():
    with pytest.raises(ValueError, match="examples=labelled_pairs, examples=duplicates or examples=triplets"):
        Softmax(gamma=10, negatives=None, symmetric=False)(EncodedBatch(side(3, 0)))


def test_a_lexical_encoding_is_refused():
    rows = Encoding(SparseRows(torch.zeros(0, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), None, 4))
    with pytest.raises(TypeError, match="choose objective=none"):
        Softmax(gamma=10, negatives=None, symmetric=False)(EncodedBatch(rows, rows))


@pytest.mark.parametrize(("settings", "complaint"), [({"gamma": 0}, "above 0; got 0"), ({"negatives": 0}, "got 0")])
def test_bad_settings_are_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        Softmax(**{"gamma": 10, "negatives": None, "symmetric": False, **settings})

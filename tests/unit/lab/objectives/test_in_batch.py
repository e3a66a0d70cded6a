"""Who is whose positive and negative, and the losses that rest on it, against naive loops and metric-learning's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.reducers import DoNothingReducer
from torch.nn.functional import normalize

from pair_batches import batch
from twicetold.encoding import EncodedBatch, Encoding, Roles
from twicetold_lab.objectives import row_blocks
from twicetold_lab.objectives.contrastive import Contrastive
from twicetold_lab.objectives.in_batch import candidates, classes, duplicates
from twicetold_lab.objectives.info_nce import InfoNce
from twicetold_lab.objectives.triplet import Triplet
from twicetold_lab.objectives.two_levels import TwoLevels


def nce(**changes):
    return InfoNce(**{"temperature": 0.3, **changes})


def n_pair(length_penalty):
    return nce(temperature=1, similarity="dot", length_penalty=length_penalty)


def margin_loss(negatives, margin=0.2, similarity="euclidean", average="nonzero"):
    return Triplet(similarity=similarity, activation="hinge", margin=margin, negatives=negatives, average=average)


def softplus_loss(negatives, similarity="dot"):
    return Triplet(similarity=similarity, activation="softplus", margin=None, negatives=negatives, average="all")


BATCHES = st.builds(
    batch,
    st.integers(1, 7),
    st.integers(0, 500),
    groups=st.booleans(),
    labels=st.booleans(),
    mined=st.integers(0, 3),
    ties=st.booleans(),
)


def roles(encoded):
    """For each anchor the candidates that are its positives and its negatives, by the words of the rule."""
    size = len(encoded.anchor.embedding)
    same = [True] * size if encoded.label is None else (encoded.label > 0).tolist()
    others = [(j, j, encoded.positive_group, False) for j in range(size)]
    if encoded.negative is not None:
        others += [(k % size, k, encoded.negative_group, True) for k in range(len(encoded.negative.embedding))]
    for i in range(size):
        positives, negatives = [], []
        for c, (j, k, group, mined) in enumerate(others):
            kin = group is not None and encoded.group[i] != -1 and encoded.group[i] == group[k]
            positive = (same[i] and not mined) if i == j else kin
            (positives if positive else negatives).append(c)
        yield positives, negatives


def cosines(encoded):
    others = [encoded.positive.embedding] + ([] if encoded.negative is None else [encoded.negative.embedding])
    return normalize(encoded.anchor.embedding, dim=1) @ normalize(torch.cat(others), dim=1).T


@given(BATCHES)
def test_every_candidate_is_a_positive_or_a_negative_as_the_rule_says(encoded):
    found = candidates(encoded, unit_length=True)
    positive, negative = found.masks(slice(0, len(found.anchor)))
    for i, (positives, negatives) in enumerate(roles(encoded)):
        assert positive[i].nonzero().flatten().tolist() == positives
        assert negative[i].nonzero().flatten().tolist() == negatives
    middle = slice(1, len(found.anchor))
    assert torch.equal(found.masks(middle)[1], negative[middle])


def texts(size, seed, number=3, dtype=torch.float64):
    random = torch.Generator().manual_seed(seed)
    embedding = torch.randn(size, 5, generator=random, dtype=dtype)
    embedding[size // 2 :: 3] = embedding[: len(embedding[size // 2 :: 3])]  # ties
    label = torch.randint(0, number, (size,), generator=random)
    return embedding.requires_grad_(), label


def assert_equals_metric_learning(ours, theirs, embedding):
    gradients = []
    for loss in (ours, theirs):
        assert loss.requires_grad
        gradients.append(torch.autograd.grad(loss, embedding, retain_graph=True)[0])
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5, abs=1e-7)
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-6)


SIZES = [(2, 1), (2, 40), (3, 2), (12, 3), (12, 1), (12, 500), (60, 4), (60, 30)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "number"), SIZES)
def test_the_in_batch_likelihood_of_classes_is_metric_learnings_nt_xent(size, number, seed):
    embedding, label = texts(size, seed, number)
    ours = nce(temperature=0.1)(EncodedBatch(Encoding(embedding), label=label))["loss"]
    assert_equals_metric_learning(ours, pml.NTXentLoss(temperature=0.1)(embedding, label), embedding)


def apart(embedding):
    """Moved so that no two are coincident: there d has no gradient, and each library chooses its own."""
    return embedding.detach().add(torch.randn_like(embedding) * 0.05).requires_grad_()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "number"), SIZES)
def test_the_triplet_loss_over_all_triplets_is_metric_learnings(size, number, seed):
    torch.manual_seed(seed)
    tied, label = texts(size, seed, number)
    embedding = apart(tied)
    ours, of_tied = (
        margin_loss("all")(EncodedBatch(Encoding(each), label=label))["loss"] for each in (embedding, tied)
    )
    assert_equals_metric_learning(ours, pml.TripletMarginLoss(margin=0.2)(embedding, label), embedding)
    assert of_tied.item() == pytest.approx(pml.TripletMarginLoss(margin=0.2)(tied, label).item(), rel=1e-5)


def test_the_n_pair_loss_is_the_in_batch_likelihood_of_dots_plus_a_penalty_on_length():
    encoded = batch(7, 0)
    likelihood = nce(temperature=1, similarity="dot")(encoded)["loss"]
    squares = sum((side.embedding**2).sum(1).mean() for side in (encoded.anchor, encoded.positive))
    assert n_pair(0.2)(encoded)["loss"].item() == pytest.approx((likelihood + 0.05 * squares).item())


@pytest.mark.parametrize("mined", [0, 1, 3])
def test_the_contrastive_loss_is_the_mean_half_square_of_metric_learnings_pairs(mined):
    encoded = batch(12, 3, mined=mined)
    one, two = (torch.cat([side.embedding] * (1 + mined)) for side in (encoded.anchor, encoded.positive))
    same = torch.cat([encoded.label > 0, torch.zeros(12 * mined, dtype=torch.bool)]) if mined else encoded.label > 0
    if mined:
        two = torch.cat([two[:12], encoded.negative.embedding])
    row = torch.arange(len(one))
    indices = (row[same], row[same], row[~same], row[~same])
    measure = pml.ContrastiveLoss(neg_margin=1.0, reducer=DoNothingReducer(), distance=LpDistance())
    parts = measure(one, indices_tuple=indices, ref_emb=two)
    theirs = sum(parts[name]["losses"].square().sum() for name in ("pos_loss", "neg_loss")) / (2 * len(one))
    ours = Contrastive(margin=1.0)(encoded)["loss"]
    assert_equals_metric_learning(ours, theirs, encoded.anchor.embedding)


def naive_triplets(encoded, margin, negatives):
    """Loss and share of active triplets."""
    distance, losses = (2 - 2 * cosines(encoded)).clamp(min=0).sqrt().tolist(), []
    for row, (own, others) in zip(distance, roles(encoded)):
        for p in own:
            far = [row[n] for n in others]
            if negatives == "semi_hard":
                far = [d for d in far if d > row[p]]
                far = [min(far)] if far else []
            losses += [max(0.0, margin + row[p] - d) for d in far]
    active = [loss for loss in losses if loss > 0]
    return sum(active) / max(len(active), 1), len(active) / max(len(losses), 1)


@pytest.mark.parametrize("negatives", ["all", "semi_hard"])
@given(
    size=st.integers(1, 7),
    seed=st.integers(0, 500),
    groups=st.booleans(),
    labels=st.booleans(),
    mined=st.integers(0, 3),
)
def test_chosen_triplets_are_those_of_naive_loops(negatives, size, seed, groups, labels, mined):
    encoded = batch(size, seed, groups=groups, labels=labels, mined=mined)
    expected, share = naive_triplets(encoded, 0.3, negatives)
    losses = margin_loss(negatives, 0.3)(encoded)
    assert losses["loss"].item() == pytest.approx(expected, abs=1e-9)
    assert losses["active"].item() == pytest.approx(share)


@pytest.mark.parametrize("negatives", ["all", "semi_hard"])
def test_an_empty_selection_gives_a_zero_that_back_propagates(negatives):
    for label in ([0, 0, 0], [0, 1, 2], [-1, -1, -1]):
        embedding = torch.randn(3, 4, requires_grad=True)
        objective = margin_loss(negatives)
        loss = objective(EncodedBatch(Encoding(embedding), label=torch.tensor(label)))["loss"]
        loss.backward()
        assert loss.item() == 0
        assert not embedding.grad.any()


def test_given_triplets_are_each_of_the_rows_mined_ones():
    encoded = batch(5, 0, mined=2)
    a, p, n = (normalize(s.embedding, dim=1) for s in (encoded.anchor, encoded.positive, encoded.negative))
    gaps = [(a[k % 5] - p[k % 5]).norm() - (a[k % 5] - n[k]).norm() for k in range(10)]
    expected = sum(max(0.0, 0.2 + gap.item()) for gap in gaps) / 10
    assert margin_loss("given", average="all")(encoded)["loss"].item() == pytest.approx(expected, abs=1e-7)


CHAIN = [0, 1, 2, 5, 6, 7]  # 0 is like 1, which is like 2, and so is a text of no known cluster


@pytest.mark.parametrize(
    ("label", "group", "other", "kin"),
    [
        ([1.0, 1, 0, 0], [7, -1, -1, 7], [7, -1, -1, 2], {(0, 3), (0, 4), (3, 4), (1, 5)}),
        (
            [0.9, 0.6, 0.7, 0.8, 0.4],
            [0, 1, -1, -1, 8],
            [1, 2, 2, 7, 9],
            {(i, j) for i in CHAIN for j in CHAIN if i < j} | {(3, 8)},
        ),
    ],
    ids=["clusters", "pairs that are likely the same"],
)
def test_classes_of_pairs_are_their_clusters_and_what_is_likely_the_same(label, group, other, kin):
    one, size = torch.eye(len(label)), 2 * len(label)
    codes = {"label": torch.tensor(label), "group": torch.tensor(group), "positive_group": torch.tensor(other)}
    embedding, code = classes(EncodedBatch(Encoding(one), Encoding(one + 1), **codes))
    assert torch.equal(embedding, torch.cat([one, one + 1]))
    same = (code[:, None] == code).tolist()
    assert {(i, j) for i in range(size) for j in range(i + 1, size) if same[i][j]} == kin


def two_towers(role, seed):
    """As a family with two towers gives it; the embedding as a whole says nothing of what is like what."""
    views = {role: one_sided(seed), ("document" if role == "query" else "query"): one_sided(seed + 100)}
    whole = torch.cat([views["query"], views["document"]], 1)
    return Encoding(whole, Roles(**{name: vectors[:, None] for name, vectors in views.items()}))


def one_sided(seed):
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    "objective",
    [
        margin_loss("given", 0.3, "cosine", "all"),
        margin_loss("given", 0.3, "dot", "all"),
        margin_loss("given", 0.3),
        softplus_loss("given"),
    ],
    ids=lambda o: type(o).__name__,
)
def test_mined_triplets_of_two_towers_are_a_query_and_two_documents(objective):
    towers = EncodedBatch(two_towers("query", 1), two_towers("document", 2), two_towers("document", 3))
    alone = EncodedBatch(*(Encoding(one_sided(seed)) for seed in (1, 2, 3)))
    assert objective(towers)["loss"].item() == pytest.approx(objective(alone)["loss"].item())


@pytest.mark.parametrize(
    "objective",
    [softplus_loss("all"), TwoLevels(boundaries=(0.2, 0.6), weights=(1, 1), scale=10.0)],
    ids=lambda o: type(o).__name__,
)
def test_two_towers_have_no_similarity_of_equals(objective):
    group = torch.arange(6)
    pairs = EncodedBatch(two_towers("query", 1), two_towers("document", 2), group=group, positive_group=group)
    with pytest.raises(ValueError, match=r"one tower for queries and another for documents.*encoder\.shared=true"):
        objective(pairs)


def test_softplus_triplets_of_texts_and_of_the_same_texts_in_pairs_are_the_same():
    embedding = torch.randn(8, 3, dtype=torch.float64)
    group = torch.tensor([0, 1, 2, 0])
    pairs = EncodedBatch(Encoding(embedding[:4]), Encoding(embedding[4:]), group=group, positive_group=group)
    plain = EncodedBatch(Encoding(embedding), label=group.repeat(2))
    for negatives in ("all", "batch_hard"):
        objective = softplus_loss(negatives)
        assert objective(pairs)["loss"].item() == pytest.approx(objective(plain)["loss"].item())


@pytest.mark.parametrize("objective", [nce(symmetric=True), margin_loss("all", 0.3)])
def test_blocks_of_rows_change_nothing(objective, monkeypatch):
    def run():
        encoded = batch(23, 1)
        loss = objective(encoded)["loss"]
        loss.backward()
        return loss, *(side.embedding.grad for side in (encoded.anchor, encoded.positive, encoded.negative))

    whole = run()
    monkeypatch.setattr(row_blocks, "_blocks", lambda a, o: [slice(s, min(s + 4, len(a))) for s in range(0, len(a), 4)])
    torch.testing.assert_close(run(), whole)


def test_mined_negatives_of_unknown_cluster_are_refused_beside_known_anchors():
    encoded = batch(4, 0)
    with pytest.raises(ValueError, match="negative_group"):
        nce()(EncodedBatch(encoded.anchor, encoded.positive, encoded.negative, group=encoded.group))


def test_a_soft_label_counts_as_the_likelier_of_the_two():
    side = Encoding(torch.ones(4, 2))
    batch = EncodedBatch(anchor=side, positive=side, label=torch.tensor([0.51, 0.5, 1.0, 0.0]))
    assert duplicates(batch).tolist() == [True, False, True, False]

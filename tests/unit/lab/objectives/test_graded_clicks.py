"""The softmax of clicked documents against a naive loop, against DSSM's, and on a log of clicks."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding, Roles
from twicetold_lab.objectives.graded_clicks import GradedClicks
from twicetold_lab.objectives.info_nce import InfoNce


def side(size, seed):
    generator = torch.Generator().manual_seed(seed)
    return Encoding(torch.randn(size, 3, generator=generator, dtype=torch.float64).requires_grad_())


def log_of(size, seed, *, mined=False):
    """Rows of some queries with grades; a document that was clicked is of its query's cluster, others of any."""
    random = torch.Generator().manual_seed(seed)
    grade = torch.randint(0, 4, (size,), generator=random) / 3
    query = torch.randint(0, 4, (size,), generator=random)
    elsewhere, of_mined = torch.randint(-1, 9, (2, size), generator=random)
    return EncodedBatch(
        anchor=side(size, seed),
        positive=side(size, seed + 1),
        negative=side(size, seed + 2) if mined else None,
        label=grade,
        group=query,
        positive_group=torch.where(grade > 0, query, elsewhere),
        negative_group=of_mined if mined else None,
    )


def naive(batch, *, gamma, power, order):
    total = weights = 0.0
    q, d = batch.anchor.embedding, batch.positive.embedding

    def weight_of(i, other):
        return math.exp(gamma * cosine_similarity(q[i], other, dim=0).item())

    for i, grade in enumerate(batch.label.tolist()):
        if grade == 0:
            continue
        against = 0.0
        for j, other in enumerate(batch.label.tolist()):
            if j == i:
                continue
            if batch.group[i] == batch.group[j]:
                negative = other < grade if order else other == 0
            else:
                negative = batch.positive_group[j] != batch.group[i]
            against += weight_of(i, d[j]) * bool(negative)
        for j in range(len(q)) if batch.negative is not None else ():
            if j == i or batch.negative_group[j] != batch.group[i]:
                against += weight_of(i, batch.negative.embedding[j])
        own = weight_of(i, d[i])
        total -= grade**power * math.log(own / (own + against))
        weights += grade**power
    return total / weights


@pytest.mark.parametrize("mined", [False, True])
@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("power", [0, 1, 2.5])
def test_the_loss_is_that_of_the_loop(power, order, mined):
    for seed in range(4):
        batch = log_of(14, 10 * seed, mined=mined)
        loss = GradedClicks(temperature=0.2, power=power, order=order)(batch)["loss"]
        assert loss.item() == pytest.approx(naive(batch, gamma=5, power=power, order=order), rel=1e-9)


def test_without_weight_and_order_it_is_the_softmax_of_dssm():
    dssm = InfoNce(temperature=0.2, different_pairs=False)
    batch = log_of(14, 5)
    clicked = batch.label > 0
    batch = replace(batch, positive_group=torch.where(clicked, batch.group, -1))
    as_clicked = replace(batch, label=clicked.float())
    loss = GradedClicks(temperature=0.2, power=0, order=False)(batch)["loss"]
    torch.testing.assert_close(loss, dssm(as_clicked)["loss"])


def test_documents_that_were_not_clicked_have_no_term_of_their_own():
    batch = log_of(6, 3)
    nothing = EncodedBatch(batch.anchor, batch.positive, label=torch.zeros(6), group=batch.group)
    losses = GradedClicks(temperature=0.2, power=1, order=True)(nothing)
    losses["loss"].backward()
    assert losses["loss"].item() == losses["clicked"].item() == 0
    assert not batch.anchor.embedding.grad.any()


def test_views_add_up():
    vectors = torch.randn(2, 8, 3, 4, generator=torch.Generator().manual_seed(0))
    left, right = (Encoding(side.flatten(1), Roles(side, side)) for side in vectors)
    codes = {"label": torch.arange(8) % 3 / 2, "group": torch.arange(8) // 3}
    objective = GradedClicks(temperature=0.2, power=1, order=True)
    alone = [objective(EncodedBatch(*map(Encoding, vectors[:, :, m]), **codes))["loss"] for m in range(3)]
    torch.testing.assert_close(objective(EncodedBatch(left, right, **codes))["loss"], sum(alone))


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"temperature": 0.0}, "temperature .* above 0; got 0.0"), ({"power": -1.0}, "power .* at least 0; got -1.0")],
)
def test_a_setting_out_of_range_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        GradedClicks(**{"temperature": 0.1, "power": 1.0, "order": True, **setting})


def test_a_batch_without_grades_names_the_examples_to_choose():
    objective = GradedClicks(temperature=0.1, power=1, order=True)
    one = side(4, 0)
    for batch in (EncodedBatch(one), EncodedBatch(one, one)):
        with pytest.raises(ValueError, match="choose examples=clicks"):
            objective(batch)

"""What a training validates, the loss of the published DSSM on every batch, and what a solver refuses."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import EncodedBatch, Encoding, Roles
from twicetold_lab.grid.recipe import parts_of
from twicetold_lab.mining import random
from twicetold_lab.training.cell import train_cell
from twicetold_lab.training.parts import Places
from twicetold_lab.training.schedule import Runtime


def test_epochs_are_validated_on_a_sample_of_many_documents_and_the_result_on_all(
    composed, news, tmp_path, monkeypatch
):
    choices = ("data=toy_news", "model=static", "examples=triplets", "objective=triplet", "trainer.epochs=2")
    cfg = composed("train", *choices)
    places = Places(*(tmp_path / name for name in ("triplets", "features", "checkpoints")))
    random.mine(news, seed=0, label="category", per_anchor=2).save(places.triplets / "random.parquet")
    epochs: list[float] = []

    def train():
        return train_cell(
            news,
            parts_of(cfg),
            seed=0,
            feature_key="key",
            places=replace(places, checkpoints=tmp_path / f"checkpoints{len(epochs)}"),
            runtime=Runtime(accelerator="cpu", workers=0, progress=False),
            on_epoch=lambda metrics, epoch: epochs.append(metrics["val/auroc_category"]),
        )

    exact = train()
    assert exact.fitted.best_value == max(epochs)
    monkeypatch.setattr("twicetold_lab.training.cell.SAMPLE", len(news.members["val"]) // 2)
    sampled = train()
    assert epochs[2:] != epochs[:2]
    assert sampled.fitted.best_value in epochs[:2]


def equation_5(batch: EncodedBatch, gamma: float, count: int) -> float:
    """Mean over clicked pairs of −log P(D⁺|Q), summed over views, with a loop for everything: Huang et al. 2013."""

    def vectors(side: Encoding, role):
        return side.embedding[:, None] if side.extra is None else getattr(side.extra, role)

    total = 0.0
    queries, documents = vectors(batch.anchor, "query"), vectors(batch.positive, "document")
    for view in range(queries.shape[1]):
        lots = torch.rand(len(queries), len(documents))
        for i, query in enumerate(queries[:, view]):
            unclicked = [j for j in range(len(documents)) if j != i and batch.positive_group[j] != batch.group[i]]
            drawn = sorted(unclicked, key=lambda j: lots[i, j])[:count]
            assert len(drawn) == count
            compared = documents[[i, *drawn], view]
            weights = (gamma * cosine_similarity(query[None], compared, dim=1)).double().exp()
            total -= (weights[0] / weights.sum()).log().item() / len(queries)
    return total


@pytest.mark.parametrize("model", ["dssm", "cdssm", "lstm_dssm", "mv_dssm"])
def test_the_published_dssm_has_the_loss_of_equation_5_on_every_batch_that_it_makes(
    model, composed, questions, tmp_path
):
    cfg = composed("train", "data=toy_questions", f"model={model}", "profile=published", "trainer.epochs=2")
    parts = parts_of(cfg)
    steps: list[list] = []  # the batch, the random state before it and the loss
    parts.objective.register_forward_pre_hook(lambda _, given: steps.append([given[0], torch.get_rng_state()]))
    parts.objective.register_forward_hook(lambda _, given, losses: steps[-1].append(losses["loss"].item()))
    train_cell(
        questions,
        parts,
        seed=0,
        feature_key="key",
        places=Places(*(tmp_path / name for name in ("triplets", "features", "checkpoints"))),
        runtime=Runtime(accelerator="cpu", workers=0, progress=False),
        on_epoch=lambda metrics, epoch: None,
    )
    pairs = questions.pairs["train"]
    assert len(steps) == 2
    for batch, state, loss in steps:
        assert isinstance(batch.anchor.extra, Roles) == (model == "mv_dssm")
        assert len(batch.label) == (pairs.label == 1).sum() < len(pairs.label)
        torch.set_rng_state(state)
        assert loss == pytest.approx(equation_5(batch, gamma=20, count=4), rel=1e-5)


@pytest.mark.parametrize("setting", ["gradient_clip=1.0", "warmup_steps=10", "decay=linear"])
def test_a_solver_refuses_settings_of_gradient_descent(setting, composed):
    cfg = composed("train", "data=toy_questions", "model=film", f"trainer.{setting}")
    with pytest.raises(ValueError, match=f"trainer.{setting.split('=')[0]}: the solver Film does not use it"):
        parts_of(cfg)

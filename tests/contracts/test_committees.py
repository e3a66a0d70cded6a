"""Two of every family judging together: they train, are saved and loaded, or it says why not."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from twicetold import layout
from twicetold.layers.committee import judges_of, members_of
from twicetold.mining import random
from twicetold.scoring import load_scorer
from twicetold.training.cell import Places, train_cell
from twicetold.training.schedule import Runtime
from twicetold.training.solvers.protocol import Solver

MODELS = sorted(p.stem for p in (Path(__file__).parents[2] / "conf/model").glob("*.yaml"))
RUNTIME = Runtime(accelerator="cpu", workers=0, progress=False)


def places_in(folder):
    return Places(*(folder / name for name in ("triplets", "features", "checkpoints")))


def train(corpus, parts, places, *, seed=0, runtime=RUNTIME):
    return train_cell(
        corpus,
        parts,
        seed=seed,
        feature_key="key",
        places=places,
        runtime=runtime,
        on_epoch=lambda metrics, epoch: None,
    )


def settings_of(cfg):
    settings = {name: OmegaConf.to_container(cfg[name], resolve=True) for name in ("features", "encoder")}
    return {**settings, "data": {"name": cfg.data.name, "train": "0"}}


@pytest.mark.parametrize("model", MODELS)
def test_a_family_trains_in_twos_or_says_why_not(model, composed, questions, parts_of, tmp_path):
    cfg = composed("train", "data=toy_questions", f"model={model}", "trainer.epochs=1", "committee=2")
    if cfg.objective._target_ is None or isinstance(instantiate(cfg.optimizer), Solver):
        with pytest.raises(ValueError, match="would all be the same; choose committee=1"):
            parts_of(cfg)
        return
    sentences = [text.replace(" story", ". Story") for text in questions.texts.to_pylist()]  # as inverse cloze needs
    corpus = replace(questions, texts=pa.array(sentences))
    places = places_in(tmp_path)
    strategy = cfg.examples.get("strategy", "random")
    random.mine(corpus, seed=0, label="cluster", per_anchor=2).save(places.triplets / f"{strategy}.parquet")
    trained = train(corpus, parts_of(cfg), places)
    trained.save(tmp_path / "model", **settings_of(cfg))
    assert json.loads((tmp_path / "model" / layout.RECIPE).read_text())["committee"] == 2
    sides = sentences[:10], sentences[10:20]
    scores = load_scorer(tmp_path / "model").score(*sides)
    np.testing.assert_array_equal(scores, trained.scorer.score(*sides))
    assert len(np.unique(scores)) > 1


@pytest.mark.parametrize("model", ["static_mlp", "siamese_lstm"])
def test_the_first_member_is_what_one_alone_would_be(model, composed, questions, parts_of, tmp_path):
    def weights(committee):
        choice = f"committee={committee}"
        cfg = composed("train", "data=toy_questions", f"model={model}", "tuned=none", "trainer.epochs=3", choice)
        places = places_in(tmp_path / choice)
        random.mine(questions, seed=0, label="cluster", per_anchor=2).save(places.triplets / "random.parquet")
        trained = train(questions, parts_of(cfg), places)
        return [member.state_dict() for member in members_of(trained.scorer.encoder)]

    (alone,), (first, second, third) = weights(1), weights(3)
    for name, weight in alone.items():
        torch.testing.assert_close(first[name], weight)
    assert any(not torch.equal(second[name], third[name]) for name in alone)


@pytest.fixture
def generation(composed, questions, parts_of, tmp_path):
    """Trains a run with a seed, after an earlier one or not; its config, and what was trained."""

    def _generation(seed, *overrides, joined=None):
        cfg = composed("train", "data=toy_questions", "model=static_mlp", "tuned=none", "trainer.epochs=2", *overrides)
        parts = replace(parts_of(cfg), joined=joined)
        return cfg, train(questions, parts, places_in(tmp_path / str(seed)), seed=seed)

    return _generation


def test_an_earlier_generation_judges_as_well(generation, questions, tmp_path):
    _, first = generation(0, "committee=2")
    before = {name: weight.clone() for name, weight in first.scorer.encoder.state_dict().items()}
    cfg, second = generation(1, joined=first.scorer)
    sides = questions.texts.to_pylist()[:10], questions.texts.to_pylist()[10:20]
    judges = judges_of(second.scorer.encoder)
    assert len(judges) == 3
    each = np.stack([replace(second.scorer, encoder=judge).score(*sides) for judge in judges])
    np.testing.assert_allclose(second.scorer.score(*sides), each.mean(0), rtol=1e-5)
    np.testing.assert_allclose(first.scorer.score(*sides), each[1:].mean(0), rtol=1e-5)
    assert all(torch.equal(weight, before[name]) for name, weight in first.scorer.encoder.state_dict().items())
    second.save(tmp_path / "model", **settings_of(cfg))
    np.testing.assert_array_equal(load_scorer(tmp_path / "model").score(*sides), second.scorer.score(*sides))


def test_a_generation_of_another_recipe_or_other_data_is_refused(generation):
    _, first = generation(0, "encoder.embedding=8")
    with pytest.raises(ValueError, match="joined has encoders of another recipe, or of another dataset"):
        generation(1, joined=first.scorer)


def test_a_generation_that_reads_other_texts_than_train_is_refused(generation):
    _, first = generation(0)
    names = first.scorer.featuriser.letter_grams_
    swapped = replace(first.scorer, featuriser=copy.copy(first.scorer.featuriser))
    swapped.featuriser.letter_grams_ = names[::-1]
    with pytest.raises(ValueError, match="joined reads texts in another way"):
        generation(1, joined=swapped)


@pytest.mark.parametrize("setting", ["gradient_clip=1.0", "warmup_steps=10", "decay=linear", "micro_batch=8"])
def test_a_solver_refuses_settings_of_gradient_descent(setting, composed, parts_of):
    cfg = composed("train", "data=toy_questions", "model=film", f"trainer.{setting}")
    with pytest.raises(
        ValueError, match=f"trainer.{setting.split('=')[0]}: the solver Film sets the weights by itself"
    ):
        parts_of(cfg)


def test_members_side_by_side_load_their_own_batches(composed, questions, parts_of, tmp_path):
    cfg = composed("train", "data=toy_questions", "model=static_mlp", "tuned=none", "trainer.epochs=1", "committee=2")
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        runtime = replace(RUNTIME, workers=1)
        trained = train(questions, parts_of(cfg), places_in(tmp_path), runtime=runtime)
    finally:
        torch.set_num_threads(threads)
    assert len(members_of(trained.scorer.encoder)) == 2


def test_a_committee_of_nobody_is_refused(composed, parts_of):
    cfg = composed("train", "data=toy_questions", "model=dssm", "committee=0")
    with pytest.raises(ValueError, match="committee must be at least 1, the family as it is; got 0"):
        parts_of(cfg)

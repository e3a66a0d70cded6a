"""FILM and M-FILM on small corpora: gradient, trivial cases, invariances, the road they share with other families."""

import numpy as np
import pytest
import torch
from torch import nn

from twicetold.features.rows import CsrRows
from twicetold.features.tfidf import TfIdf
from twicetold.models.dae import DenoisingAutoencoder
from twicetold.models.film import Film as FilmMap
from twicetold_lab.examples.batches import ExampleIndex
from twicetold_lab.examples.labelled import MinedTriplets
from twicetold_lab.mining import random
from twicetold_lab.objectives.contrastive import Contrastive
from twicetold_lab.objectives.triplet import Triplet
from twicetold_lab.training.solvers.film import Film, Surrogate
from twicetold_lab.training.solvers.mfilm import MiniBatchFilm
from twicetold_lab.training.solvers.protocol import Solver, Steps, TrainingData

PAPER = {
    "rank": 20,
    "svd_rounds": 3,
    "start": "random",
    "steps": 1,
    "iterations": 1,
    "whitening": 1.0,
    "smoothing": 1.0,
    "trust": None,
}
PROXIMAL = {**PAPER, "start": "leading", "steps": 5, "whitening": 0.5, "smoothing": 0.01, "trust": 0.5}
SETTINGS = {"paper": Film(**PAPER), "proximal": Film(**PROXIMAL)}
MINI = MiniBatchFilm(batches=3, whitening=1.0, smoothing=1.0)
SOLVERS = {**SETTINGS, "mini-batch": MINI}


def data_of(texts, triplets):
    featuriser = TfIdf().fit(texts)
    anchor, positive, negative = np.asarray(triplets, np.int64).T
    index = ExampleIndex(anchor=anchor, positive=positive, negative=negative)
    return TrainingData(featuriser.transform(texts), np.arange(len(texts)), index)


def news_data(news, tmp_path):
    rows = TfIdf().fit(news.texts_of("train")).transform(news.texts.to_pylist())
    random.mine(news, seed=0, label="category", per_anchor=3).save(tmp_path / "random.parquet")
    return TrainingData(rows, news.members["train"], MinedTriplets("random", "category").index(news, tmp_path))


def run(solver, data, *, hidden=4, steps=6, similarity="dot", margin=1.0):
    torch.manual_seed(0)
    encoder = FilmMap(width=data.rows.width, hidden=hidden)
    objective = Triplet(similarity=similarity, activation="hinge", margin=1.0, negatives="given", average="all")
    objective.margin = margin  # also one that the objective refuses, below 0, to have no active triplet
    under_way = solver.prepare(encoder, objective, data, seed=0)
    seen = [under_way.step(encoder, np.arange(len(data.examples))) for _ in range(steps)]
    return encoder, under_way, [{name: float(value) for name, value in step.items()} for step in seen]


@pytest.mark.parametrize("smoothing", [1.0, 0.1])
def test_the_gradient_is_that_of_finite_differences(smoothing):
    generator = np.random.default_rng(0)
    matrix, point, direction = (generator.standard_normal(shape) for shape in ((8, 8), (8, 3), (8, 3)))
    function = Surrogate((matrix + matrix.T) / 2, smoothing)
    tiny = 1e-6
    expected = (function(point + tiny * direction)[0] - function(point - tiny * direction)[0]) / (2 * tiny)
    assert np.vdot(function(point)[1], direction) == pytest.approx(expected, rel=1e-6)


def test_a_small_smoothing_gives_equation_15():
    matrix = np.diag([3.0, -2.0])
    np.testing.assert_allclose(Surrogate(matrix, 1e-3).scale(np.eye(2)), [3.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_p_stays_on_the_manifold_and_everything_is_finite(solver, similarity, news, tmp_path):
    encoder, _, seen = run(solver, news_data(news, tmp_path), similarity=similarity, steps=20)
    assert max(step["orthogonality"] for step in seen) < 1e-6
    assert all(np.isfinite(list(step.values())).all() for step in seen)
    assert torch.isfinite(encoder.weight).all()


def test_the_map_is_the_one_of_the_paper(news, tmp_path):
    data = news_data(news, tmp_path)
    encoder, under_way, _ = run(SETTINGS["paper"], data)
    point, scale = under_way.point.numpy(), under_way.scale.numpy()
    embedding = encoder.encode(data.rows.gather(np.arange(20))).embedding.detach()
    texts = np.unique(np.concatenate([data.examples.anchor, data.examples.positive, data.examples.negative]))
    expected = under_way.coordinates @ (point * np.sqrt(scale))
    actual = encoder.encode(data.rows.gather(texts)).embedding.detach()
    assert embedding.shape == (20, 4)
    np.testing.assert_allclose(actual, expected, atol=1e-4)


def test_the_proximal_form_lowers_the_loss(news, tmp_path):
    _, _, seen = run(SETTINGS["proximal"], news_data(news, tmp_path), similarity="cosine", margin=0.5, steps=15)
    assert seen[-1]["loss"] < 0.7 * seen[0]["loss"]


TRIVIAL = {
    "one triplet": (["red car", "red bus", "blue sky", "blue sea"], [(0, 1, 2)]),
    "texts that share no term": (["red car", "blue sky", "old oak"], [(0, 1, 2), (1, 0, 2)]),
    "repeated rows": (["red car"] * 3 + ["blue sky"] * 3, [(0, 1, 3), (3, 4, 0), (1, 1, 2)]),
    "rank one": (["red", "red red", "red"], [(0, 1, 2)]),
    "an unknown text": (["red car", "!", "blue sky"], [(0, 1, 2)]),
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("case", TRIVIAL.values(), ids=TRIVIAL)
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_trivial_problems_give_a_finite_map(solver, case, similarity):
    encoder, _, seen = run(solver, data_of(*case), similarity=similarity, hidden=3)
    assert torch.isfinite(encoder.weight).all()
    assert all(np.isfinite(list(step.values())).all() for step in seen)


@pytest.mark.parametrize("solver", SETTINGS.values(), ids=SETTINGS)
def test_as_many_dimensions_as_directions_and_no_active_triplet(solver):
    texts, triplets = TRIVIAL["one triplet"]
    data = data_of(texts, triplets)
    rank = run(solver, data)[1].coordinates.shape[1]
    for margin in (1.0, -100.0):
        encoder, _, seen = run(solver, data, hidden=rank, margin=margin)
        assert torch.isfinite(encoder.weight).all()
    assert {step["active"] for step in seen} == {0.0}


def test_only_train_texts_are_decomposed(news, tmp_path):
    data = news_data(news, tmp_path)
    rows = data.rows
    ends = rows.indptr[data.texts.max() + 1]
    other = CsrRows(rows.indptr, rows.indices, np.r_[rows.values[:ends], 9 * rows.values[ends:]], rows.width)
    one = run(SETTINGS["paper"], data)[0].weight
    assert torch.equal(one, run(SETTINGS["paper"], TrainingData(other, data.texts, data.examples))[0].weight)


def test_leaves_that_do_not_fit_are_refused_with_a_reason(news, tmp_path):
    data = news_data(news, tmp_path)
    hinge = Triplet(similarity="dot", activation="hinge", margin=1.0, negatives="given", average="all")
    encoder = FilmMap(width=data.rows.width, hidden=2)
    other = DenoisingAutoencoder(
        width=9, hidden=2, activation="sigmoid", corruption="masking", corruption_level=0.3, decay_when_encoding=True
    )
    for solver in SOLVERS.values():
        assert isinstance(solver, Solver)
        with pytest.raises(TypeError, match="linear map"):
            solver.prepare(other, hinge, data, seed=0)
        chosen_in_batch = Triplet(similarity="dot", activation="hinge", margin=1.0, negatives="all", average="all")
        for unfit in (Contrastive(margin=1.0), chosen_in_batch):
            with pytest.raises(TypeError, match="objective=triplet_film"):
                solver.prepare(encoder, unfit, data, seed=0)
        lonely = TrainingData(data.rows, data.texts, ExampleIndex(anchor=data.examples.anchor))
        with pytest.raises(TypeError, match="examples=triplets"):
            solver.prepare(encoder, hinge, lonely, seed=0)


def test_the_state_of_a_solver_stays_on_the_cpu():
    steps = nn.ModuleDict({"solver": Steps()})
    steps.solver.register_buffer("point", torch.ones(2))
    assert steps.to("meta").solver.point.device.type == "cpu"

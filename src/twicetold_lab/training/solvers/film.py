"""FILM: the triplet hinge minimised over L = √S Pᵀ Σ⁻¹ Uᵀ, by descent on the Stiefel manifold.

Tang and Aw, "FILM: A Fast, Interpretable, and Low-rank Metric Learning Approach for Sentence Matching",
arXiv:2010.05523, algorithm 1. With V, C, T, Λ, K of `triplets`, and for a given Λ:

    f₀(P, s) = tr(P S Pᵀ K) + ½‖s‖² + m tr Λ                  equation 14
    s_i = max(0, k_i), k_i = −p_iᵀ K p_i                      15: the minimum over s
    μ(x) = −log σ(−x) = log(1 + eˣ) in place of max(0, x)     18
    f₂(P) = −½ Σ_i k_i μ(k_i) + m tr Λ                        19, over PᵀP = I
    ∇f₂ = −(K + Kᵀ) P diag(q), q_i = −½ (μ(k_i) + k_i σ(k_i)) 28

One outer iteration: compute Λ and K at the current (P, s); take steps on the manifold (`stiefel`) with both fixed; then
compute s. The paper and FLRML take one such step.

For a given Λ the minimum is known: f₂ depends on k_i alone, which the eigenvalues of −(K + Kᵀ)/2 majorise (Schur), and
k μ(k) is convex for k > −2.4; so the leading eigenvectors are optimal. The difficulty is Λ, which changes with P.

Three settings go beyond the paper; their defaults in `conf/optimizer/film.yaml` are the paper's:

- `whitening` a: V = X U Σ⁻ᵃ, L = √S Pᵀ Σ⁻ᵃ Uᵀ. The paper's 1 gives all directions of the texts the same weight, 0 is
  latent semantic analysis.
- `smoothing` w: μ(x) = w log(1 + e^(x/w)); w = 1 is equation 18, where k_i near 0 still gives s_i = log 2, so that S
  differs less between directions than k. A small w approximates equation 15.
- `trust` η: the penalty ½‖s‖² = ½‖M‖² pulls the metric M = P S Pᵀ to zero in every iteration, so that only the anchors
  currently within the margin matter. With η it is ½‖M − M'‖², where M' is the previous metric, which replaces K by
  h K − M': a proximal gradient step (h is such that ‖h K‖ = η‖M'‖).

Shape letters: n texts, D columns of the features, r rank, d embedding dimensions.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from twicetold.layers.two_tower import LinearMap
from twicetold.models.protocol import Encoder
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.objectives.triplet import Triplet
from twicetold_lab.training.solvers.protocol import Solver, Steps, TrainingData
from twicetold_lab.training.solvers.stiefel import Descent, Matrix, descend, drift, orthonormal
from twicetold_lab.training.solvers.svd import truncated_svd
from twicetold_lab.training.solvers.triplets import RowTriplets, Similarity

SETTLING = 10  # fixed-point iterations for s at the start, and their tolerance: FLRML, init_K
SETTLED = 1e-2


@dataclass(frozen=True)
class Film(Solver):
    """Settings of FILM.

    Args:
        rank: r at most.
        svd_rounds: number of subspace iterations.
        start: P at the start, `random` or the `leading` directions of the texts.
        steps: number of steps on the manifold in an outer iteration.
        iterations: number of outer iterations between validations.
        whitening: a.
        smoothing: w.
        trust: η, or None for the paper's own penalty.
    """

    rank: int
    svd_rounds: int
    start: Literal["random", "leading"]
    steps: int
    iterations: int
    whitening: float
    smoothing: float
    trust: float | None

    def prepare(self, encoder: Encoder, objective: Objective, data: TrainingData, *, seed: int) -> "FilmSteps":
        """Decompose the train texts, compute coordinates of those in triplets, and initialise.

        Raises:
            TypeError: unless the encoder is a linear map and `hinge_of` accepts the objective.
        """
        weight, (margin, similarity) = linear(encoder).weight, hinge_of(objective)
        texts, (anchor, positive, negative) = triplets_of(data)
        rows = data.rows.to_scipy()
        directions, sigma = truncated_svd(rows[data.texts], rank=self.rank, rounds=self.svd_rounds, seed=seed)
        inverse = directions * sigma**-self.whitening
        coordinates = rows[texts] @ inverse
        triplets = RowTriplets(anchor=anchor, positive=positive, negative=negative, similarity=similarity)
        return FilmSteps(self, triplets, coordinates, inverse, margin=margin, columns=weight.shape[1], seed=seed)


class FilmSteps(Steps):
    """A run of FILM.

    Args:
        settings: see `Film`.
        triplets: by row of `coordinates`.
        coordinates: (n, r) V.
        inverse: (D, r) U Σ⁻ᵃ.
        margin: as a share of the mean squared length of the anchors' embeddings at the start; fixed afterwards.
        columns: d; where the texts have a smaller rank, the embeddings' further columns are zero.
        seed: of a random start.
    """

    point: Tensor
    previous: Tensor
    scale: Tensor
    margin: Tensor
    tau: Tensor
    count: Tensor

    def __init__(
        self,
        settings: Film,
        triplets: RowTriplets,
        coordinates: NDArray[np.float32],
        inverse: NDArray[np.float32],
        *,
        margin: float,
        columns: int,
        seed: int,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.triplets, self.coordinates, self.inverse = triplets, coordinates, inverse
        self.per_epoch = settings.iterations
        rank = coordinates.shape[1]
        point = _start(settings.start, rank, min(columns, rank), seed)
        state = Descent(point, point)
        scale = np.ones(state.point.shape[1])
        margin_at_start = margin * self._mean_square(state.point, scale)
        if settings.trust is None:
            scale, margin_at_start = self._settle(state.point, scale, margin)
        for name in ("point", "previous", "scale", "margin", "tau", "count"):
            self.register_buffer(name, torch.empty(0))
        self._keep(state, scale)
        self.margin = torch.tensor(margin_at_start, dtype=torch.float64)

    def step(self, encoder: Encoder, chosen: NDArray[np.int64]) -> dict[str, Tensor]:
        """Return one outer iteration over all triplets; `chosen` is ignored."""
        settings, margin = self.settings, float(self.margin)
        state = Descent(self.point.numpy(), self.previous.numpy(), float(self.tau), int(self.count))
        scale = self.scale.numpy()
        pull = self.triplets.pull(self.coordinates, self._embed(state.point, scale), margin=margin)
        target = pull.matrix
        if settings.trust is not None:
            size = np.linalg.norm(target)
            stride = settings.trust * np.linalg.norm(scale) / size if size else 0.0
            target = (state.point * scale) @ state.point.T + stride * target
        surrogate = Surrogate(target, settings.smoothing)
        state, trace = descend(surrogate, state, steps=settings.steps)
        scale = surrogate.scale(state.point)
        self._keep(state, scale)
        self._write(encoder, state.point, scale)
        anchors = len(self.triplets.share)
        seen = {
            "loss": pull.loss / anchors,
            "active": pull.active / anchors,
            "f2": trace.value[-1] + margin * pull.active,
            "gradient": trace.gradient,
            "step": state.step,
            "orthogonality": drift(state.point),
        }
        return {name: torch.tensor(value) for name, value in seen.items()}

    def _embed(self, point: Matrix, scale: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return (n, d) Y = V P √S."""
        embedding: NDArray[np.float32] = self.coordinates @ (point * np.sqrt(scale)).astype(self.coordinates.dtype)
        return embedding

    def _write(self, encoder: Encoder, point: Matrix, scale: NDArray[np.float64]) -> None:
        """Write L = √S Pᵀ Σ⁻ᵃ Uᵀ, transposed."""
        weight = linear(encoder).weight
        learnt = torch.from_numpy(self.inverse @ (point * np.sqrt(scale)).astype(self.inverse.dtype))
        with torch.no_grad():
            weight.zero_()[:, : learnt.shape[1]] = learnt.to(weight)

    def _mean_square(self, point: Matrix, scale: NDArray[np.float64]) -> float:
        """Return mean squared length of the anchors' embeddings; of unit vectors, 1."""
        if self.triplets.similarity == "cosine":
            return 1.0
        anchors = np.unique(self.triplets.anchor)
        return float(np.square(self._embed(point, scale)[anchors], dtype=np.float64).sum() / len(anchors))

    def _settle(self, point: Matrix, scale: NDArray[np.float64], share: float) -> tuple[NDArray[np.float64], float]:
        """Return fixed point of scale and K before the first step, and its margin."""
        for _ in range(SETTLING):
            former, margin = scale, share * self._mean_square(point, scale)
            pull = self.triplets.pull(self.coordinates, self._embed(point, scale), margin=margin)
            scale = Surrogate(pull.matrix, self.settings.smoothing).scale(point)
            if np.linalg.norm(scale - former) < SETTLED * np.linalg.norm(former):
                break
        return scale, share * self._mean_square(point, scale)

    def _keep(self, state: Descent, scale: NDArray[np.float64]) -> None:
        # Copies: a checkpoint is loaded into buffers in place, and point and previous may be one array.
        self.point, self.previous = torch.tensor(state.point), torch.tensor(state.previous)
        self.scale = torch.tensor(scale)
        self.tau = torch.tensor(state.step, dtype=torch.float64)
        self.count = torch.tensor(state.count)


@dataclass(frozen=True)
class Surrogate:
    """f₂ without its constant, for a given Λ.

    Args:
        matrix: (r, r) −K, symmetric.
        smoothing: w.
    """

    matrix: NDArray[np.float64]
    smoothing: float

    def __call__(self, point: Matrix) -> tuple[float, Matrix]:
        """Return f₂(P) and its gradient (r, d)."""
        pulled = self.matrix @ point
        k = np.einsum("rd,rd->d", point, pulled)
        mu = self._mu(k)
        q = -(mu + k * expit(k / self.smoothing)) / 2
        return float(-(k * mu).sum() / 2), 2 * pulled * q

    def scale(self, point: Matrix) -> NDArray[np.float64]:
        """Return (d,) s, smoothed."""
        return self._mu(np.einsum("rd,rd->d", point, self.matrix @ point))

    def _mu(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.smoothing * np.logaddexp(0, k / self.smoothing)


def _start(kind: str, rank: int, columns: int, seed: int) -> Matrix:
    if kind == "leading":
        return np.eye(rank, columns)
    return orthonormal(np.random.default_rng(seed).standard_normal((rank, columns)))


def linear(encoder: Encoder) -> LinearMap:
    """Return the encoder, if it is a linear map.

    Raises:
        TypeError: if not.
    """
    if not isinstance(encoder, LinearMap):
        raise TypeError(f"this optimizer sets the weights of a linear map, not of {type(encoder).__name__}: use film")
    return encoder


def hinge_of(objective: Objective) -> tuple[float, Similarity]:
    """Return margin and similarity of the objective, which must be the triplet hinge that FILM minimises.

    Raises:
        TypeError: if not.
    """
    if (
        isinstance(objective, Triplet)
        and objective.margin is not None
        and objective.similarity != "euclidean"
        and objective.negatives == "given"
    ):
        return objective.margin, objective.similarity
    raise TypeError(
        "this optimizer minimises the hinge of dots or cosines over mined triplets (objective=triplet_film), not "
        f"this {type(objective).__name__}: choose another optimizer, or that objective"
    )


def triplets_of(data: TrainingData) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the texts of the triplets, and (3, T) anchors, positives and negatives as indices into them.

    Raises:
        TypeError: if the examples are not triplets.
    """
    examples = data.examples
    if examples.positive is None or examples.negative is None:
        raise TypeError("this optimizer needs anchor, positive and negative: choose examples=triplets")
    sides = np.stack([examples.anchor, examples.positive, examples.negative])
    texts, places = np.unique(sides, return_inverse=True)
    return texts, places.reshape(sides.shape)

"""M-FILM: FILM's map trained on batches of triplets.

The FILM paper (Tang and Aw, arXiv:2010.05523, section 3.3) names it without details; these are the steps of
M-FLRML's code (github.com/highan911/FLRML@7ccda12, MFLRML.m). For batch J, with every triplet among its texts:

    X_J = U Σ Vᵀ,  B = L U Σ,  Bᵀ B = P S Pᵀ              the current metric in the batch's coordinates
    Λ, K                                                   of the batch, at B
    P ← polar factor of P − 𝓕(P)                           one projected step of size 1; 𝓕 = G − P Gᵀ P
    s = μ(−diag(Pᵀ K P)),  L_J = Q √S Pᵀ Σ⁻¹ Uᵀ            Q: the right singular vectors of Bᵀ
    L ← (1 − 1/√J) L + (1/√J) L_J

Q aligns the rows of L_J with those of L; J = 1 replaces L. FLRML does not normalise the texts here, so that its margin
varies between batches; TF-IDF rows have unit length.

Shape letters: n texts of a batch, D columns of the features, r rank of the batch, d embedding dimensions.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from twicetold.models.protocol import Encoder
from twicetold_lab.objectives.protocol import Objective
from twicetold_lab.training.solvers.film import Surrogate, hinge_of, linear, triplets_of
from twicetold_lab.training.solvers.protocol import Solver, Steps, TrainingData
from twicetold_lab.training.solvers.stiefel import drift, orthonormal, riemannian
from twicetold_lab.training.solvers.svd import SMALLEST
from twicetold_lab.training.solvers.triplets import RowTriplets, Similarity


@dataclass(frozen=True)
class MiniBatchFilm(Solver):
    """Settings of M-FILM. The size of a batch, in triplets, is `trainer.batch_size`.

    Args:
        batches: number of batches between validations.
        whitening: a; L_J = Q √S Pᵀ Σ⁻ᵃ Uᵀ, see `film`.
        smoothing: w, see `film`.
    """

    batches: int
    whitening: float
    smoothing: float

    def prepare(self, encoder: Encoder, objective: Objective, data: TrainingData, *, seed: int) -> "MiniBatchSteps":
        """Collect the triplets.

        Raises:
            TypeError: unless the encoder is a linear map and `hinge_of` accepts the objective.
        """
        linear(encoder)
        margin, similarity = hinge_of(objective)
        texts, sides = triplets_of(data)
        rows = data.rows.to_scipy()[texts]
        return MiniBatchSteps(self, rows, sides, margin=margin, similarity=similarity)


class MiniBatchSteps(Steps):
    """A run of M-FILM.

    Args:
        settings: see `MiniBatchFilm`.
        matrix: (n, D) texts of the triplets.
        sides: (3, T) triplets by row of `matrix`.
        margin: as a share of the mean squared length of the embeddings of the first batch; fixed afterwards.
        similarity: of embeddings.
    """

    count: Tensor
    margin: Tensor

    def __init__(
        self,
        settings: MiniBatchFilm,
        matrix: sp.csr_matrix,
        sides: NDArray[np.int64],
        *,
        margin: float,
        similarity: Similarity,
    ) -> None:
        super().__init__()
        self.settings, self.matrix, self.sides, self.similarity = settings, matrix, sides, similarity
        self.share = margin
        self.per_epoch = settings.batches
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("margin", torch.tensor(0.0, dtype=torch.float64))

    def step(self, encoder: Encoder, chosen: NDArray[np.int64]) -> dict[str, Tensor]:
        """Return one batch."""
        weight = linear(encoder).weight
        texts, triplets = self._among(np.unique(self.sides[:, chosen]))
        rows = self.matrix[texts]
        columns = np.unique(rows.indices)
        rows = rows[:, columns]
        left, sigma = _decompose(rows)  # V (n, r), Σ

        embedding = rows @ weight.detach().cpu().numpy()[columns]  # (n, D) -> (n, d), which is V Bᵀ
        point, _, mixing = np.linalg.svd(left.T @ embedding, full_matrices=False)  # P, √S, Q
        if not self.count:
            mean_square = 1.0 if self.similarity == "cosine" else float(np.square(embedding).sum() / len(texts))
            self.margin = torch.tensor(self.share * mean_square, dtype=torch.float64)
        margin = float(self.margin)
        coordinates = left * sigma ** (1 - self.settings.whitening)
        pull = triplets.pull(coordinates, embedding, margin=margin)

        surrogate = Surrogate(pull.matrix, self.settings.smoothing)
        value, gradient = surrogate(point)
        slope = riemannian(point, gradient)
        point = orthonormal(point - slope)
        learnt = (point * np.sqrt(surrogate.scale(point))) @ mixing  # (r, d)
        learnt = (rows.T @ left) / sigma ** (1 + self.settings.whitening) @ learnt  # U Σ⁻ᵃ = Xᵀ V Σ⁻¹⁻ᵃ

        self.count = self.count + 1
        blend = 1 / np.sqrt(float(self.count))
        with torch.no_grad():
            weight.mul_(1 - blend)
            weight[torch.from_numpy(columns)] += torch.from_numpy(blend * learnt).to(weight)
        anchors = len(triplets.share)
        seen = {
            "loss": pull.loss / anchors,
            "active": pull.active / anchors,
            "f2": value + margin * pull.active,
            "gradient": float(np.linalg.norm(slope)),
            "step": blend,
            "orthogonality": drift(point),
        }
        return {name: torch.tensor(value) for name, value in seen.items()}

    def _among(self, texts: NDArray[np.int64]) -> tuple[NDArray[np.int64], RowTriplets]:
        """Return the texts, and all triplets within them, as indices into them."""
        place = np.full(self.matrix.shape[0], -1)
        place[texts] = np.arange(len(texts))
        inside = place[self.sides]
        anchor, positive, negative = inside[:, (inside >= 0).all(axis=0)]
        return texts, RowTriplets(anchor=anchor, positive=positive, negative=negative, similarity=self.similarity)


def _decompose(rows: sp.csr_matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return V (n, r) and Σ (r,) of a batch, by the eigenvalues of its (n, n) Gram matrix."""
    values, vectors = np.linalg.eigh((rows @ rows.T).toarray().astype(np.float64))
    sigma = np.sqrt(np.maximum(values, 0))
    large = sigma > SMALLEST * sigma[-1]
    return vectors[:, large], sigma[large]

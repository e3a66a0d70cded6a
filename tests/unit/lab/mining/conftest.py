"""A teacher of given vectors in place of a trained model, and many texts."""

import numpy as np
import pytest


class VectorTeacher:
    """Two given vectors per text; the probability is a sigmoid of the similarity."""

    def __init__(self, queries, documents):
        self.queries, self.documents = queries, documents
        self.asked = set()

    @classmethod
    def random(cls, count, *, seed, dimensions=4):
        rng = np.random.default_rng(seed)
        vectors = rng.normal(size=(2, count, dimensions)).astype(np.float32)
        return cls(*(vectors / np.linalg.norm(vectors, axis=2, keepdims=True)))

    def vectors(self, texts):
        self.asked |= set(texts.tolist())
        return self.queries[texts], self.documents[texts]

    def probability(self, left, right):
        similarity = np.einsum("pd,pd->p", self.queries[left], self.documents[right])
        return 1 / (1 + np.exp(-4 * similarity.astype(np.float64)))


@pytest.fixture(scope="session")
def teacher_of():
    """From vectors as queries and as documents to their teacher."""
    return VectorTeacher


@pytest.fixture(scope="session")
def random_teacher():
    """From a number of texts and a seed to a teacher of random unit vectors."""
    return VectorTeacher.random


@pytest.fixture
def crowd():
    """300 texts with words as unevenly frequent as real ones."""
    rng = np.random.default_rng(3)
    words = np.array([f"word{i}" for i in range(80)])
    share = 1 / np.arange(1, 81)
    return [" ".join(rng.choice(words, rng.integers(1, 12), p=share / share.sum())) for _ in range(300)]

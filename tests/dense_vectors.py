"""Dense vectors as those of texts lie."""

import numpy as np


def vectors_of(seed, count, *, unit=True, dimensions=40):
    """Around common centres, most of their length in few directions, some of them equal."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(max(1, count // 4), dimensions))[rng.integers(0, max(1, count // 4), count)]
    found = (found + 0.4 * rng.normal(size=found.shape)) * np.geomspace(1, 0.1, dimensions)
    found[rng.integers(0, count, count // 10)] = found[0]
    if unit:
        found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float32)

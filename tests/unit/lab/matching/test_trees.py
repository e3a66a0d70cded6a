"""Trees that scikit-learn grows are read by NumPy alone."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier as Boosted

from twicetold_lab.matching.trees import grown


def test_trees_read_by_numpy_say_what_scikit_learn_says(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    same = rows[:, 0] + rows[:, 1] > rows[:, 2]
    fitted = []
    fit = Boosted.fit
    monkeypatch.setattr(Boosted, "fit", lambda self, *data: (fitted.append(self), fit(self, *data))[1])
    trees = grown(list("abcd"), rows[:200], same[:200])
    columns = dict(zip("abcd", rows[200:].T, strict=True))
    np.testing.assert_allclose(trees.probability(columns), fitted[0].predict_proba(rows[200:])[:, 1], atol=1e-9)
    with pytest.raises(ValueError, match="there is no d"):
        trees.probability({name: column for name, column in columns.items() if name != "d"})

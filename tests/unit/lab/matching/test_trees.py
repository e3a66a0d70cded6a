"""Trees that scikit-learn grows are read by NumPy alone."""

import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier as Boosted

from twicetold_lab.matching.trees import grown


def test_trees_read_by_numpy_say_what_scikit_learn_says(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    same = rows[:, 0] + rows[:, 1] > rows[:, 2]
    fitted = []
    fit = Boosted.fit
    monkeypatch.setattr(Boosted, "fit", lambda self, *data: (fitted.append(self), fit(self, *data))[1])
    trees = grown(list("abcd"), rows[:200], same[:200])
    expected = fitted[0].predict_proba(rows[200:])[:, 1]
    np.testing.assert_allclose(expit(trees.log_odds(rows[200:])), expected, atol=1e-9)

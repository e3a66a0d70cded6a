"""What a kill has left of a training's checkpoints."""

import pytest

from twicetold_lab.grid.observation import remove_remains
from twicetold_lab.training.fit import BEST, LAST


@pytest.mark.parametrize(("files", "stays"), [((LAST,), False), ((), False), ((BEST,), True), ((BEST, LAST), True)])
def test_checkpoints_without_the_best_weights_are_removed(tmp_path, files, stays):
    for name in files:
        (tmp_path / name).touch()
    remove_remains(tmp_path)
    assert tmp_path.exists() is stays

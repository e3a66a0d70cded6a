"""What a kill has left of a training's checkpoints, and what is said of word hashing."""

import pytest

from twicetold.features.word_hashing import PUBLISHED
from twicetold_lab.grid.observation import _by_view, _in_words, remove_remains
from twicetold_lab.training.fit import BEST, LAST


@pytest.mark.parametrize(("files", "stays"), [((LAST,), False), ((), False), ((BEST,), True), ((BEST, LAST), True)])
def test_checkpoints_without_the_best_weights_are_removed(tmp_path, files, stays):
    for name in files:
        (tmp_path / name).touch()
    remove_remains(tmp_path)
    assert tmp_path.exists() is stays


def test_a_report_on_word_hashing_is_a_line_of_text_with_the_papers_figures():
    report = {"words": 40_000, "letter_grams": 9_000, "collisions_percent": 0.0075, "published": PUBLISHED}
    assert _by_view(report) == {"": report}
    assert _by_view({"query": report}) == {"query": report}
    assert _by_view(None) == _by_view({}) == {}
    assert _in_words(report) == (
        "40,000 words into 9,000 letter n-grams, 0.0075 % of the words collide "
        "(Huang et al. 2013: 500,000 into 30,000, 0.0044 %)"
    )

"""Which cells run as jobs."""

from twicetold_grid.fan_out import chosen


def test_a_cell_that_needs_a_stale_training_of_another_is_left_to_home():
    before = {
        "prepare@q": set(),
        "train@teacher": {"prepare@q"},
        "evaluate@teacher": {"train@teacher"},
        "mine_with_model@m": {"train@teacher"},
        "train@student": {"mine_with_model@m"},
        "evaluate@student": {"train@student"},
        "evaluate_ensemble@both": {"train@teacher", "train@student"},
    }
    everything = set(before)
    assert chosen(None, before, everything) == (["teacher"], {"student": {"train@teacher"}})
    assert chosen(["student"], before, everything) == ([], {"student": {"train@teacher"}})
    fresh = {"prepare@q", "train@teacher", "evaluate@teacher"}
    assert chosen(None, before, everything - fresh) == (["student"], {})

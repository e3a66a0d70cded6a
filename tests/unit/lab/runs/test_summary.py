import pytest

from twicetold_lab.runs.summary import may_be_contaminated


@pytest.mark.parametrize(
    ("seen", "data", "met"),
    [
        (["quora", "nli"], "stsb", True),  # its captions were drawn from SNLI
        (["quora"], "stsb", False),
        (["quora"], "quora_wang", True),
        (["quora", "nli"], "uci_news", False),
        (None, "uci_news", True),
    ],
)
def test_a_model_may_be_contaminated_a_dataset_that_was_drawn_from_what_it_has_seen(seen, data, met):
    assert may_be_contaminated(seen, data) is met

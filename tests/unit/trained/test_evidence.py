"""What thresholds and probabilities rest on, of a model that was calibrated about one of its labels."""

import pytest

from twicetold import layout
from twicetold.files import write_json
from twicetold.trained.evidence import no_better_than_one_answer, of_links, of_pairs
from twicetold.trained.threshold_record import ThresholdRecord

read = ThresholdRecord.read
LABELS = "the 100 labelled pairs of 'pairs.csv'; labels of 2026-01-31"
VALIDATION = "the validation split of 'news'"


@pytest.fixture
def calibrated(tmp_path):
    """Makes a model folder whose decision about a label was calibrated; None: the record does not say which."""

    def _calibrated(about):
        write_json(tmp_path / layout.RECIPE, {"data": {"name": "news", "train": "0" * 64}})
        pairs = {"file": "pairs.csv", "count": 100, "labelled": "2026-01-31", "same": 0.1}
        record = {"pairs": pairs, "fitted": {"accuracy": {"value": 0.8}}}
        write_json(tmp_path / layout.CALIBRATION, record if about is None else record | {"about": about})
        return tmp_path

    return _calibrated


def test_labels_about_one_label_are_no_evidence_about_another(calibrated):
    folder = calibrated("category")
    assert of_pairs(read(folder)) == of_pairs(read(folder), "category") == of_links(read(folder), "category") == LABELS
    assert of_pairs(read(folder), "story") == VALIDATION
    assert of_links(read(folder), "story") == f"labelled pairs of {VALIDATION}"
    assert no_better_than_one_answer(read(folder), "story") is None
    assert "always answering no is right for 90.0%" in no_better_than_one_answer(read(folder), "category")


def test_a_record_that_names_no_label_counts_for_all(calibrated):
    folder = calibrated(None)
    assert of_pairs(read(folder), "story") == of_links(read(folder), "story") == LABELS
    assert no_better_than_one_answer(read(folder), "story") is not None

import math

import pytest

from twicetold_lab.reporting.glossary import count, describe, magnitude, number, ordered, size


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("auroc", "AUROC"),
        ("auroc_story", "AUROC story"),
        ("average_precision_news_topic", "Average precision news topic"),
        ("precision_at_10_story", "P@10 story"),
        ("knn_accuracy_category", "k-NN accuracy category"),
        ("accuracy_at_published_threshold", "Accuracy at the published threshold"),
        ("link_precision_at_90", "Precision of links, aimed at 0.9"),
        ("b3_complete", "B-cubed, complete"),
        ("some_new_metric", "Some new metric"),
    ],
)
def test_a_metric_name_becomes_a_label_for_people(name, label):
    assert describe(name).label == label


def test_a_metric_of_which_less_is_better_is_no_quality():
    assert not any(describe(name).is_quality for name in ("threshold", "published_threshold", "brier", "log_loss"))


def test_reading_order_puts_what_the_leaderboard_shows_first():
    names = {"brier", "threshold", "accuracy", "auroc_story", "auroc_category", "f1_category", "unknown"}

    assert " ".join(ordered(names)) == "auroc_category auroc_story accuracy f1_category threshold brier unknown"


def test_numbers_are_as_precise_as_they_mean_something():
    assert (number(0.12345), number(math.nan)) == ("0.123", "–")
    assert (count(1234567), count(0.4)) == ("1,234,567", "0")
    assert [magnitude(v) for v in (0, 0.0312345, 4.567, 123.4, 45678)] == ["0", "0.0312", "4.57", "123", "45,678"]
    assert [size(v) for v in (999, 58_176, 58_176_133)] == ["999 B", "58 kB", "58.2 MB"]


def test_a_threshold_is_shown_on_whatever_scale_a_model_scores():
    threshold = describe("threshold")

    assert [threshold.show(v) for v in (0.0000152, -0.25, 812.4)] == ["0.0000152", "-0.250", "812"]

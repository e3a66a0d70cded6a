"""Thresholds of a dedupe as a model folder has them."""

from twicetold.evaluation.thresholds import DedupeThresholds, GroupingThreshold, TargetLinks
from twicetold.neighbours.rules import RULES

CHOSEN = DedupeThresholds(
    group="story",
    texts=101,
    duplicates=300,
    complete=True,
    auroc=0.9,
    average_precision=0.6,
    slope=10.0,
    intercept=-6.0,
    f1_threshold=0.4,
    links=(TargetLinks(0.8, 0.7, 0.81, 0.5), TargetLinks(0.9, None, 0.85, 0.1)),
    grouping=tuple(GroupingThreshold(rule, 0.3, 0.7) for rule in RULES),
)

"""The word hashing report: numbers of words and of letter n-grams, and of words that cannot be distinguished by them.

Huang et al., Learning Deep Structured Semantic Models for Web Search using Clickthrough Data, CIKM 2013, table 1.
"""

from collections.abc import Mapping
from typing import Any

PUBLISHED = {"words": 500_000, "letter_grams": 30_000, "collisions": 22, "collisions_percent": 0.0044}
"""Letter trigrams of the paper's vocabulary."""


def card(collisions: int, *, words: int, letter_grams: int) -> dict[str, Any]:
    """Return the report on one vocabulary, with the paper's figures."""
    percent = 100 * collisions / words
    own = {"words": words, "letter_grams": letter_grams, "collisions": collisions, "collisions_percent": percent}
    return {**own, "published": PUBLISHED}


def by_view(reports: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """Return the reports in a featuriser's `card_`, by view; the name is empty where there are no views."""
    if not reports:
        return {}
    return {"": reports} if "published" in reports else dict(reports)


def in_words(one: Mapping[str, Any]) -> str:
    """Return a report as a line of text."""
    published = one["published"]
    return (
        f"{one['words']:,} words into {one['letter_grams']:,} letter n-grams, {percentage(one)} of the words collide "
        f"(Huang et al. 2013: {published['words']:,} into {published['letter_grams']:,}, {percentage(published)})"
    )


def percentage(one: Mapping[str, Any]) -> str:
    """Return the share of the words that have all their n-grams in common with another word."""
    return f"{one['collisions_percent']:.2g} %"

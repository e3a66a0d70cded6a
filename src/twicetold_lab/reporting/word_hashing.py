"""Word hashing statistics of the models of one dataset, and those of the paper."""

from collections.abc import Mapping
from typing import Any

from twicetold.features.hashing_card import percentage
from twicetold_lab.reporting.glossary import count
from twicetold_lab.reporting.leaderboard import Leaderboard

COLUMNS = ("words of train", "letter n-grams", "words that collide", "share of words")
EXPLANATION = (
    "These models read letters: each word is a set of letter n-grams, so that the input stays small and new words are "
    "not unknown. Words collide that have all their n-grams in common."
)


def hashing_rows(board: Leaderboard) -> list[tuple[str, list[str]]]:
    """Names of models and the cells of `COLUMNS`; the last row is the paper's. Empty if no model hashes words.

    Models with the same words and n-grams share a row.
    """
    rows: list[tuple[list[str], Mapping[str, Any]]] = []
    for row in sorted(board.rows, key=lambda row: row.model):
        for view, card in row.first.word_hashing.items():
            name = f"{row.model} ({view})" if view else row.model
            for names, known in rows:
                if known == card:
                    names.append(name)
                    break
            else:
                rows.append(([name], card))
    if not rows:
        return []
    published = ("Huang et al. 2013", _cells(rows[0][1]["published"]))
    return [*((", ".join(names), _cells(card)) for names, card in rows), published]


def _cells(card: Mapping[str, Any]) -> list[str]:
    return [*(count(card[name]) for name in ("words", "letter_grams", "collisions")), percentage(card)]

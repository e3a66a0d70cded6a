"""Distinct texts in groups, and what follows for all texts.

Shape letters: n texts, m distinct texts.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.pairs import PairScores, probability_of
from twicetold.dedupe.results import GroupsOfTexts, TextLinks
from twicetold.neighbours.grouping import Floats, Ints, Links, describe


@dataclass(frozen=True)
class GroupedTexts:
    """Groups of distinct texts.

    Args:
        distinct: the texts.
        pairs: their scores.
        links: between them.
        codes: (m,) group of each.
        row: (m,) of the text that stands for the group of each.
    """

    distinct: DistinctTexts
    pairs: PairScores
    links: Links
    codes: Ints
    row: Ints

    @cached_property
    def table(self) -> GroupsOfTexts:
        """The groups of two or more texts."""
        described = describe(self.codes, self.links)
        size = np.bincount(self.group)
        larger = np.flatnonzero(size > 1)
        return GroupsOfTexts(
            larger, size[larger], described.size[larger], described.density[larger], described.weakest[larger]
        )

    @property
    def group(self) -> Ints:
        """(n,) group of each text."""
        return self.codes[self.distinct.place]

    def rows_of_representatives(self) -> Ints:
        """(n,) row of the text that stands for the group of each."""
        return self.row[self.distinct.place]

    def probability(self) -> Floats:
        """(n,) that a text says the same as its representative."""
        return probability_of(self.pairs, self.distinct.place[self.row])[self.distinct.place]

    def in_rows(self, links: Links) -> TextLinks:
        """Pairs of distinct texts by rows of the texts."""
        rows = self.distinct.rows
        probability = self.pairs.probability(links.similarity)
        return TextLinks(rows[links.left], rows[links.right], links.similarity, probability)

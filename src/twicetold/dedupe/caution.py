"""Warnings about groups: what a person should look at before rows are dropped.

- More than half of the rows are in groups.
- Links join texts that differ in digits or codes alone, such as order numbers and sizes. A code is a run of letters and
  digits with a digit in it, or, in a text with small letters, a word in capitals.
- Hardly any text is linked, though most differ from another one only in digits or codes, such as times and ids in logs.
- Without labels or answers, as many pairs are in doubt as are links.
- A group is a chain: its ends are less alike than the threshold.

Shape letters: m distinct texts, L links, P pairs, G groups.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twicetold.dedupe.distinct import replaced
from twicetold.dedupe.pairs import PairScores
from twicetold.neighbours.grouping import Floats, Ints, Links
from twicetold.printable import counted, differing

MANY = 0.5  # share of rows in groups, or of texts that differ from another one only in digits or codes
FEW = 0.05  # links for each text
DOUBT = (0.2, 0.8)  # probabilities of pairs that may be duplicates or not
FEWEST_DOUBTS = 20  # such pairs, by which nothing is said of a file
LOOKED_AT = 20_000  # links whose texts are compared
BLANK = 0.01  # share of texts without a term that the model knows, from which a file is unlike training
CHECKED, CHECKED_BY_MODEL = 1000, 20  # groups whose ends are compared: those of which the fewest pairs are links
_CODE = r"(?:[A-Za-z0-9]+[-_/.])*[A-Za-z]*\p{Nd}[A-Za-z\p{Nd}]*(?:[-_/.][A-Za-z\p{Nd}]+)*"
_CAPITALS = r"[A-Z]{1,6}"


class Chains(NamedTuple):
    """Groups whose ends are less alike than the threshold.

    Attributes:
        groups: number of these.
        left: one end of the one whose ends are least alike.
        right: its other end.
        score: of these two.
    """

    groups: int
    left: int
    right: int
    score: float


def warnings_of(
    texts: Sequence[str], links: Links, codes: Ints, pairs: PairScores, *, least: float, shown: Sequence[str]
) -> tuple[str, ...]:
    """Return warnings about links and groups.

    Args:
        texts: m distinct texts.
        links: between them.
        codes: (m,) group of each.
        pairs: their scores.
        least: score of a link.
        shown: m texts as a person is shown them.
    """
    some = links.take(evenly(len(links), LOOKED_AT))
    sides = [[texts[row] for row in side.tolist()] for side in (some.left, some.right)]
    chains = chains_in(codes, links, pairs, least=least)
    warnings = [codes_alone(sides[0], sides[1], some.similarity) or codes_keep_apart(texts, len(links))]
    if chains is not None:
        if pairs.vectors is None:  # scores are no similarities
            chains = chains._replace(score=float(pairs.probability(np.array([chains.score]))[0]))
        warnings.append(chained(chains, (shown[chains.left], shown[chains.right])))
    return tuple(filter(None, warnings))


def many_grouped(grouped: int, rows: int, dropped: int, *, equal: int) -> str | None:
    """Return a warning if more than half of the rows are in groups.

    Args:
        grouped: rows in groups of two or more.
        rows: of all.
        dropped: rows that are not the representative of their group.
        equal: rows whose text another row before them has.
    """
    if grouped <= MANY * rows:
        return None
    return (
        f"{grouped:,} of {rows:,} rows ({grouped / rows:.0%}) are in groups, and {dropped:,} ({dropped / rows:.0%}) "
        f"would be dropped. {'Too many? Raise --threshold' if dropped > equal else 'The texts of each group are equal'}"
    )


def unknown_texts(count: int, texts: int) -> str | None:
    """Return a warning of texts without a term that the model knows; None if they are few.

    Args:
        count: of these.
        texts: distinct ones, at least one.
    """
    if count <= BLANK * texts:
        return None
    return (
        f"{count:,} of {texts:,} texts ({count / texts:.0%}) have no term that the model knows, so it finds no "
        "duplicates of them. Train a model on texts like these, or take one that reads letters"
    )


def left_out(crowded: int, shortened: int) -> list[str]:
    """Warn of words that were not compared with all others by spelling, and of texts without some of their words."""
    warnings = []
    if crowded:
        warnings.append(
            f"{counted(crowded, 'word was', 'words were')} not compared with all others by spelling, as too many "
            "differ by one letter: texts that differ by such words alone may have too low a probability"
        )
    if shortened:
        warnings.append(
            f"{counted(shortened, 'long text was', 'long texts were')} not compared by all words, but by their rarest: "
            "texts that differ by frequent words alone may have too high a probability"
        )
    return warnings


def codes_alone(left: Sequence[str], right: Sequence[str], similarity: Floats) -> str | None:
    """Return a warning if links join texts that differ in digits or codes alone, with the most similar pair of them.

    Args:
        left: L texts.
        right: the L texts that they are linked with.
        similarity: (L,) of the links.
    """
    if not len(left):
        return None
    both = pc.utf8_normalize(pa.array([*left, *right], pa.large_string()), form="NFKC")
    rest, all_of_it = (
        each.dictionary_encode().indices.to_numpy(zero_copy_only=False).reshape(2, -1)
        for each in (_without_codes(both), replaced(pc.utf8_lower(both), r"[^\p{L}\p{M}\p{N}]+", ""))
    )
    alone = np.flatnonzero((rest[0] == rest[1]) & (all_of_it[0] != all_of_it[1]))
    alone = np.array([link for link in alone.tolist() if _words(left[link]) != _words(right[link])], np.int64)
    if not len(alone):
        return None
    example = int(alone[np.argmax(similarity[alone])])
    one, other = differing(left[example], right[example])
    share = f"{len(alone) / len(left):.1%}" if len(alone) < len(left) else "all"
    return (
        f"{share} of the links join texts that differ only in digits or codes, such as {one!r} and {other!r}. Not the "
        "same? Raise --threshold, or name a column that has the code (--same)"
    )


def codes_keep_apart(texts: Sequence[str], links: int) -> str | None:
    """Warn if there are hardly any links, though most texts differ from another one only in digits or codes.

    Args:
        texts: m distinct ones.
        links: number of these.
    """
    if links >= FEW * len(texts):
        return None
    counts = pc.value_counts(_without_codes(pc.utf8_normalize(pa.array(texts, pa.large_string()), form="NFKC")))
    alike = sum(each["counts"] for each in counts.to_pylist() if each["values"] and each["counts"] > 1)
    if alike < MANY * len(texts):
        return None
    return (
        f"{alike:,} of {len(texts):,} texts differ from another one only in digits or codes, such as times or ids, and "
        "hardly any are linked. Are they duplicates? Answer --ask 20, or take what differs out of the texts"
    )


def doubtful(probability: Floats, links: int) -> str | None:
    """Warn if as many candidates may be duplicates or not as are links.

    It was so of 14 of 20 files, kinds held out: the precision of their groups was 0.21 to 0.91, on average 0.61; of the
    others it was 0.86 to 1.00.

    Args:
        probability: (P,) of the candidates, by the generic matcher.
        links: number of these.
    """
    doubts = np.count_nonzero((probability >= DOUBT[0]) & (probability <= DOUBT[1]))
    if doubts < max(links, FEWEST_DOUBTS):
        return None
    return (
        f"{doubts:,} pairs may be the same or not (probability {DOUBT[0]} to {DOUBT[1]}), beside "
        f"{counted(links, 'link')}. In such files four of ten links were wrong: answer --ask 20, or raise --threshold"
    )


def chains_in(codes: Ints, links: Links, pairs: PairScores, *, least: float) -> Chains | None:
    """Return groups whose ends are less alike than the threshold; None if there are none.

    The ends are the text with the fewest links in its group, and the one that is least like it.

    Args:
        codes: (m,) group of each text, from 0 without gaps.
        links: between the texts.
        pairs: scores of the texts.
        least: score of a link.
    """
    inside = codes[links.left] == codes[links.right]
    size, linked = np.bincount(codes), np.bincount(codes[links.left[inside]], minlength=int(codes.max()) + 1)
    loose = np.flatnonzero(linked < size * (size - 1) / 2)
    most = CHECKED_BY_MODEL if pairs.vectors is None else CHECKED
    loose = loose[np.argsort(linked[loose] / (size[loose] * (size[loose] - 1)), kind="stable")][:most]
    if not len(loose):
        return None
    degree = np.bincount(np.concatenate([links.left[inside], links.right[inside]]), minlength=len(codes))
    members = np.flatnonzero(np.isin(codes, loose))
    members = members[np.lexsort((members, degree[members], codes[members]))]
    first = np.flatnonzero(np.append(True, np.diff(codes[members]) != 0))
    end = np.repeat(members[first], np.diff(np.append(first, len(members))))
    others = np.flatnonzero(members != end)
    left, right = end[others], members[others]
    score = pairs.score(left, right)
    apart = np.flatnonzero(score < least)
    if not len(apart):
        return None
    worst = apart[np.argmin(score[apart])]
    groups = len(np.unique(codes[left[apart]]))
    return Chains(groups, int(left[worst]), int(right[worst]), float(score[worst]))


def chained(chains: Chains, ends: tuple[str, str]) -> str:
    """Return a warning of chains.

    Args:
        chains: from `chains_in`.
        ends: the two texts at the ends of the worst one.
    """
    one, other = differing(*ends)
    many = "1 group is a chain" if chains.groups == 1 else f"{chains.groups:,} groups are chains"
    return (
        f"{many}: the ends are less alike than the threshold, such as {one!r} and {other!r} ({chains.score:.3f}). "
        "--rule complete makes no chains"
    )


def evenly(count: int, most: int) -> Ints:
    """Return positions of all, or of `most` that are spread over them."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def _words(text: str) -> list[str]:
    """Return words of a text, sorted: a code that stands elsewhere is the same one."""
    return sorted(re.findall(r"\w+", text.lower()))


def _without_codes(texts: pa.Array) -> pa.Array:
    """Return letters of texts without codes; those in capitals leave a sign."""
    words = replaced(replaced(texts, _CODE, " ", where=r"\p{Nd}"), r"[^\p{L}\p{M}]+", " ")
    mixed = pc.match_substring_regex(texts, r"\p{Ll}")
    some = pc.and_(mixed, pc.match_substring_regex(words, rf"(?:^| ){_CAPITALS}(?: |$)"))
    apart = replaced(pc.replace_substring(words.filter(some), " ", "  "), r"(?s)^(.*)$", r" \1 ")
    marked = replaced(replaced(apart, rf" {_CAPITALS} ", " # "), r" +", " ")
    return pc.utf8_trim_whitespace(pc.utf8_lower(pc.replace_with_mask(words, some, marked)))

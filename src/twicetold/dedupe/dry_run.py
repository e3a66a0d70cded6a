"""A dry run: the groups of a dedupe at some ten thresholds, of which one is that of the options.

The pairs are searched for once, from the lowest threshold on, and merged once: at a higher threshold the groups are a
cut of the same tree (`twicetold.neighbours.grouping`). So a table costs little more than a dedupe at its lowest
threshold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twicetold.dedupe.options import DEFAULTS, DedupeOptions
from twicetold.dedupe.prepared import Prepared, Progress
from twicetold.dedupe.thresholds import score_at
from twicetold.evaluation.group_metrics import GroupScores
from twicetold.neighbours.grouping import Ints, Links
from twicetold.neighbours.rules import Rule
from twicetold.trained.loaded import LoadedModel

PROBABILITIES = (-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0)  # log-odds from the threshold
EXTREME = 0.001  # probabilities nearer to 0 and 1 are not told apart
DIGITS = 2  # of a threshold, or of what it lacks to 1


@dataclass(frozen=True)
class AtThreshold:
    """Links and groups from a threshold on.

    Args:
        threshold: as `dedupe` takes it, a probability.
        score: the same as a score of the model.
        links: pairs of distinct texts that reach it.
        groups: of two or more texts.
        grouped: texts in them.
        largest: texts in the largest one.
        dropped: texts that have another one as representative.
        chosen: whether it is the threshold of a dedupe with the same options.
        agreement: of the groups with those that are known, if some are.
    """

    threshold: float
    score: float
    links: int
    groups: int
    grouped: int
    largest: int
    dropped: int
    chosen: bool
    agreement: GroupScores | None = None


@dataclass(frozen=True)
class DryRun:
    """Result of a dry run.

    Args:
        texts: n.
        distinct: m.
        rule: how links make groups.
        calibrated: whether labels calibrated the probabilities; else they are those of the generic matcher.
        evidence: for thresholds and probabilities, in words.
        warnings: drift of the texts from those that the model was trained on, and doubts about the threshold.
        unfinished: distinct texts that may have more links at the lowest threshold than were looked for.
        approximate: whether an approximate index was searched, which may miss links.
        at: by threshold, the lowest first.

    Examples:
        >>> import twicetold
        >>> texts = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?"]
        >>> found = twicetold.fit(texts, lexical=True).dry_run(texts, threshold=0.5)  # DryRun
        >>> [(at.links, at.groups) for at in found.at if at.chosen]
        [(1, 1)]
    """

    texts: int
    distinct: int
    rule: Rule
    calibrated: bool
    evidence: str
    warnings: tuple[str, ...]
    unfinished: int
    approximate: bool
    at: tuple[AtThreshold, ...]


def dry_run(
    model: LoadedModel,
    texts: Sequence[str],
    options: DedupeOptions = DEFAULTS,
    *,
    progress: Progress | None = None,
) -> DryRun:
    """Numbers of links and groups at some ten thresholds around that of the options; arguments and errors: `dedupe`."""
    progress = progress or (lambda _: None)
    prepared = Prepared.of(model, texts, options, progress=progress)
    scores = _scores_around(prepared)
    links, candidates = prepared.search(min(scores), progress)
    progress("grouping")
    grouping = prepared.grouping(links, candidates, min(scores))
    return DryRun(
        texts=len(prepared.distinct.exact),
        distinct=len(prepared.distinct),
        rule=options.rule,
        calibrated=prepared.link.calibrated,
        evidence=prepared.link.evidence,
        warnings=prepared.warnings,
        unfinished=candidates.unfinished,
        approximate=candidates.approximate,
        at=tuple(_at(prepared, scores[score], score, *grouping(score)) for score in sorted(scores)),
    )


def _scores_around(prepared: Prepared) -> dict[float, float]:
    """Scores, and each as the threshold that a person gives: the chosen one, and round ones around it."""
    middle = prepared.link.probability
    inside = min(max(middle, EXTREME), 1 - EXTREME)
    scores = {prepared.link.score: middle}
    for step in PROBABILITIES:
        value = rounded(1 / (1 + math.exp(-math.log(inside / (1 - inside)) - step)))
        if value not in (0, 1) and not math.isclose(value, middle):
            scores[score_at(value, prepared.pairs.decision)] = value
    return scores


def rounded(value: float) -> float:
    """A number between 0 and 1 with few digits; near 1, its distance to 1 has few."""
    small = min(value, 1 - value)
    short = float(f"{small:.{DIGITS}g}")
    return short if small == value else round(1 - short, 12)


def _at(prepared: Prepared, threshold: float, score: float, links: Links, codes: Ints) -> AtThreshold:
    group = codes[prepared.distinct.place]
    size = np.bincount(group)
    several = size[size > 1]
    return AtThreshold(
        threshold=threshold,
        score=score,
        links=len(links),
        groups=len(several),
        grouped=int(several.sum()),
        largest=int(size.max()),
        dropped=int(several.sum()) - len(several),
        chosen=score == prepared.link.score,
        agreement=None if prepared.truth is None else prepared.truth.scores(group),
    )

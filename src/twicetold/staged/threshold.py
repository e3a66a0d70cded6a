"""`threshold`: the score from which a pair is a link among so many texts, and what is known of links."""

from dataclasses import asdict
from typing import Any

import numpy as np

from twicetold.dedupe.caution import NO_THRESHOLD
from twicetold.dedupe.results import DedupeSummary
from twicetold.evaluation.guarantee import GuaranteedPrecision
from twicetold.staged.model import loaded, options_of, scores_of
from twicetold.staged.plan import Plan
from twicetold.trained.evidence import no_better_than_one_answer


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Choose it.

    Returns:
        `plan.Link` as `link`, and a `DedupeSummary` without counts as `summary`.
    """
    model, settings = loaded(plan.settings.model), plan.settings
    thresholds, pairs = scores_of(model, settings)
    link = thresholds.link(pairs.decision, options_of(settings), plan.distinct)
    constant = NO_THRESHOLD.format(link.score) if link.chosen_for == "constant" else None
    warnings = filter(None, (no_better_than_one_answer(model.record, model.about), constant))
    summary = DedupeSummary(
        texts=plan.rows,
        distinct=plan.distinct,
        links=0,
        groups=0,
        grouped=0,
        largest=1,
        rule=settings.rule,
        threshold=link.score,
        chosen_for=link.chosen_for,
        probability=float(pairs.probability(np.array([link.score]))[0]),
        unfinished=0,
        approximate=False,
        evidence=thresholds.evidence,
        calibrated=not thresholds.guessed,
        labelled_pairs=thresholds.known is None and not thresholds.guessed,
        warnings=tuple(warnings),
        precision=link.precision,
        expected_precision=thresholds.expected_precision(link, plan.distinct),
        expected_low=None if link.expected is None else link.expected.low,
        expected_high=None if link.expected is None else link.expected.high,
        lower_bound=thresholds.is_lower_bound(link),
        promised=link.guaranteed,
        assured=link.assured,
    )
    decision = pairs.decision
    known = {
        "least": float(link.score),
        "constant": float(pairs.constant),
        "slope": float(decision.slope),
        "intercept": float(decision.intercept),
        "calibrated": pairs.calibrated,
    }
    return {"link": known, "summary": asdict(summary)}


def summary_of(found: dict[str, Any]) -> DedupeSummary:
    """From what `run` returned."""
    promised = found["promised"]
    return DedupeSummary(
        **{
            **found,
            "promised": None if promised is None else GuaranteedPrecision(**promised),
            "warnings": tuple(found["warnings"]),
        }
    )

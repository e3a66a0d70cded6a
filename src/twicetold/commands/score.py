"""`twicetold score`: one pair of texts."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._options import About, Json, Model
from twicetold.commands._progress import load_model, progress
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.use.model import Model as UsedModel


def score(
    model: Model,
    left: Annotated[str, typer.Argument(help="A text.", show_default=False)],
    right: Annotated[str, typer.Argument(help="The other text.", show_default=False)],
    about: About = None,
    as_json: Json = False,
) -> None:
    """Decide whether two texts are duplicates: score, probability and verdict.

    Examples:
        twicetold score model "How do I learn to swim?" "how to learn swimming"
        twicetold score model "bank rate" "rate of a bank" --json

    A model that cannot decide gives only the score, and says why. One that was fitted to texts compares these two
    alone; in a file, pairs and dedupe see how rare their words are and what else is near. Write -- before a text that
    begins with a dash.
    """
    for side, text in (("LEFT", left), ("RIGHT", right)):
        if not text.strip():
            raise ValueError(f"{side} is empty: expected a text")
    loaded = load_model(model)
    with progress("comparing both texts"):
        answer, warnings = _answer(loaded, left, right, about)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(json_text(answer) if as_json else _answer_text(answer))


def _warnings(loaded: "UsedModel", left: str, right: str, about: str | None) -> Iterator[str]:
    from twicetold.trained.drift import drift_of_text
    from twicetold.trained.evidence import no_better_than_one_answer

    for side, text in (("LEFT", left), ("RIGHT", right)):
        if unknown := drift_of_text(loaded, text):
            yield f"of {side}, the model does not know {unknown}"
    if warning := no_better_than_one_answer(loaded.record, about or loaded.about):
        yield warning


def _answer(loaded: "UsedModel", left: str, right: str, about: str | None) -> tuple[dict[str, Any], Iterable[str]]:
    """Return a model's answer for a pair, without a verdict the reason; and warnings."""
    from twicetold.dedupe.compared_pairs import ComparedPairs

    verdicts, warnings, no_verdict = loaded.decisions.of(about), _warnings(loaded, left, right, about), None
    threshold = probability = duplicate = None
    if loaded.by_matcher:
        compared = ComparedPairs.of(loaded, [left], [right])
        score, threshold, warnings = compared.score.tolist(), compared.threshold, iter(compared.warnings)
        probability, duplicate = float(compared.probability[0]), bool(compared.duplicate[0])
    else:
        score, no_verdict = loaded.similarity([left], [right]).tolist(), verdicts.no_verdict
        if not no_verdict:
            decision = verdicts.usable
            threshold, probability = decision.threshold, float(decision.probability(score)[0])
            duplicate = bool(decision.duplicate(score)[0])
    return {
        "score": None if isnan(score[0]) else score[0],  # equal texts have none by the matcher
        "about": verdicts.label,
        "threshold": threshold,
        "probability": probability,
        "duplicate": duplicate,
        "no_verdict": no_verdict,
    }, warnings


def _answer_text(answer: Mapping[str, Any]) -> str:
    score = "none, as both are equal" if answer["score"] is None else f"{answer['score']:.4f}"
    threshold, probability, verdict = "", "none", f"none, as {answer['no_verdict']}"
    if not answer["no_verdict"]:
        threshold, probability = f" (threshold {answer['threshold']:.4f})", f"{answer['probability']:.4f}"
        verdict = "the same" if answer["duplicate"] else "not the same"
    return (
        f"score        {score}{threshold}\nprobability  {probability}\nverdict      {verdict} (about {answer['about']})"
    )

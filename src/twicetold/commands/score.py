"""`twicetold score`: one pair of texts."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._options import About, Json, Model
from twicetold.commands._progress import load_model, progress
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.trained.loaded import LoadedModel


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

    A model that cannot decide gives only the score, and says why. Write -- before a text that begins with a dash.
    """
    for side, text in (("LEFT", left), ("RIGHT", right)):
        if not text.strip():
            raise ValueError(f"{side} is empty: expected a text")
    loaded = load_model(model)
    _warn(loaded, left, right, about)
    with progress("comparing both texts"):
        answer = _answer(loaded, left, right, about)
    print(json_text(answer) if as_json else _answer_text(answer))


def _warn(loaded: "LoadedModel", left: str, right: str, about: str | None) -> None:
    from twicetold.trained.drift import drift_of_text
    from twicetold.trained.evidence import no_better_than_one_answer

    for side, text in (("LEFT", left), ("RIGHT", right)):
        if unknown := drift_of_text(loaded, text):
            print(f"warning: of {side}, the model does not know {unknown}", file=sys.stderr)
    if warning := no_better_than_one_answer(loaded.record, about or loaded.about):
        print(f"warning: {warning}", file=sys.stderr)


def _answer(loaded: "LoadedModel", left: str, right: str, about: str | None) -> dict[str, Any]:
    """Return a model's answer for a pair; without a verdict, the reason."""
    verdicts, score = loaded.decisions.of(about), loaded.similarity([left], [right])
    threshold = probability = duplicate = None
    if not verdicts.no_verdict:
        decision = verdicts.usable
        threshold, probability = decision.threshold, float(decision.probability(score)[0])
        duplicate = bool(decision.duplicate(score)[0])
    return {
        "score": float(score[0]),
        "about": verdicts.label,
        "threshold": threshold,
        "probability": probability,
        "duplicate": duplicate,
        "no_verdict": verdicts.no_verdict,
    }


def _answer_text(answer: Mapping[str, Any]) -> str:
    threshold, probability, verdict = "", "none", f"none, as {answer['no_verdict']}"
    if not answer["no_verdict"]:
        threshold, probability = f" (threshold {answer['threshold']:.4f})", f"{answer['probability']:.4f}"
        verdict = "the same" if answer["duplicate"] else "not the same"
    return (
        f"score        {answer['score']:.4f}{threshold}\n"
        f"probability  {probability}\n"
        f"verdict      {verdict} (about {answer['about']})"
    )

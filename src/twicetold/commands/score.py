"""`twicetold score`: one pair of texts."""

from typing import Annotated

import typer

from twicetold.commands._options import About, Json, Model
from twicetold.printable import json_text, print


def score(
    model: Model,
    left: Annotated[str, typer.Argument(help="A text.", show_default=False)],
    right: Annotated[str, typer.Argument(help="The other text.", show_default=False)],
    why: Annotated[bool, typer.Option("--why", help="Show what pairs of terms add; linear families only.")] = False,
    top: Annotated[int, typer.Option(help="Pairs of terms that --why shows.", min=1)] = 10,
    about: About = None,
    as_json: Json = False,
) -> None:
    """Say whether two texts say the same: score, probability and verdict, and the label that it is about.

    A model that cannot tell gives the score alone, and says why. Write -- before a text that begins with a dash.
    """
    import sys

    from twicetold.trained.unlike import unlike_text
    from twicetold.use.model import load

    for side, text in (("LEFT", left), ("RIGHT", right)):
        if not text.strip():
            raise ValueError(f"{side} is empty: expected a text")
    loaded = load(model)
    for side, text in (("LEFT", left), ("RIGHT", right)):
        if unknown := unlike_text(loaded, text):
            print(f"warning: of {side}, the model does not know {unknown}", file=sys.stderr)
    verdicts = loaded.decisions.of(about)
    score = loaded.similarity([left], [right])
    probability = duplicate = threshold = None
    if not verdicts.no_verdict:
        decision = verdicts.usable
        threshold = decision.threshold
        probability, duplicate = float(decision.probability(score)[0]), bool(decision.duplicate(score)[0])
    explanation = None
    if why:
        from twicetold.interpretation.contributions import explain
        from twicetold.trained.scoring import Scorer

        if not isinstance(loaded.trained, Scorer):
            raise TypeError("--why needs a single model, and this is an ensemble: name the folder of one member")
        explanation = explain(loaded.trained, left, right)
    if as_json:
        found: dict[str, object] = {
            "score": float(score[0]),
            "about": verdicts.label,
            "threshold": threshold,
            "probability": probability,
            "duplicate": duplicate,
            "no_verdict": verdicts.no_verdict,
        }
        if explanation is not None:
            names = ("left", "right", "contribution")
            found["contributions"] = [dict(zip(names, row, strict=True)) for row in explanation.largest(top)]
        print(json_text(found))
        return
    print(f"score        {score[0]:.4f}" + ("" if threshold is None else f" (threshold {threshold:.4f})"))
    print(f"probability  {'none' if probability is None else f'{probability:.4f}'}")
    said = f"none, as {verdicts.no_verdict}" if verdicts.no_verdict else "the same" if duplicate else "not the same"
    print(f"verdict      {said} (about {verdicts.label})")
    if explanation is not None:
        from twicetold.interpretation.tables import explanation_text

        print(f"\n{explanation_text(explanation, most=top)}", end="")

"""`twicetold score`: one pair of texts."""

from typing import Annotated

import typer

from twicetold.commands._options import Json, Model


def score(
    model: Model,
    left: Annotated[str, typer.Argument(help="A text.", show_default=False)],
    right: Annotated[str, typer.Argument(help="The other text.", show_default=False)],
    why: Annotated[bool, typer.Option("--why", help="Show what pairs of terms add; linear families only.")] = False,
    top: Annotated[int, typer.Option(help="Pairs of terms that --why shows.", min=1)] = 10,
    as_json: Json = False,
) -> None:
    """Say whether two texts say the same: score, probability and verdict.

    Write -- before a text that begins with a dash.
    """
    import json
    import sys

    from twicetold.api.model import load
    from twicetold.api.unlike import unlike_text

    for side, text in (("LEFT", left), ("RIGHT", right)):
        if not text.strip():
            raise ValueError(f"{side} is empty: expected a text")
    loaded = load(model)
    for side, text in (("LEFT", left), ("RIGHT", right)):
        if unknown := unlike_text(loaded, text):
            print(f"warning: of {side}, the model does not know {unknown}", file=sys.stderr)
    verdict = loaded.trained.verdicts([(left, right)])[0]
    explanation = None
    if why:
        from twicetold.interpretation.contributions import explain
        from twicetold.scoring import Scorer

        if not isinstance(loaded.trained, Scorer):
            raise TypeError("--why needs a single model, and this is an ensemble: name the folder of one member")
        explanation = explain(loaded.trained, left, right)
    if as_json:
        found: dict[str, object] = {
            "score": verdict.score,
            "threshold": loaded.threshold,
            "probability": verdict.probability,
            "duplicate": verdict.duplicate,
        }
        if explanation is not None:
            names = ("left", "right", "contribution")
            found["contributions"] = [dict(zip(names, row, strict=True)) for row in explanation.largest(top)]
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    print(f"score        {verdict.score:.4f} (threshold {loaded.threshold:.4f})")
    print(f"probability  {verdict.probability:.4f}")
    print(f"verdict      {'the same' if verdict.duplicate else 'not the same'}")
    if explanation is not None:
        from twicetold.interpretation.tables import explanation_text

        print(f"\n{explanation_text(explanation, most=top)}", end="")

"""`twicetold calibrate`: fit a model's threshold and calibration on one's own labelled pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.commands._console import flush_right, tell
from twicetold.commands._options import Format, Json, Left, Right, SkipBad, file_format, model_and_file
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import load_model, progress, tell_left_out
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from collections.abc import Callable

    from twicetold.evaluation.guarantee import IntervalEstimate
    from twicetold.evaluation.thresholds import LabelledLinks
    from twicetold.labels.calibration import Calibration, CalibrationPairs

NO_BETTER = 3
"""Exit code: the pairs do not show that the new decision is better, so it was not written."""


def calibrate(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] PAIRS",
            help="Run folder or model folder (optional), then labelled pairs (.csv, .tsv, .jsonl or "
            ".parquet), as label writes them.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The new model folder; without MODEL, a .json file.", show_default=False)
    ],
    left: Left = None,
    right: Right = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column with 1 or 0, true or false, yes or no; empty: not answered.", show_default="label, or same"
        ),
    ] = None,
    format: Format = None,
    skip_bad: SkipBad = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing model folder or file.")] = False,
    as_json: Json = False,
) -> None:
    """Fit threshold and calibration on labelled pairs of your own.

    Examples:
        twicetold calibrate pairs.csv.model pairs.csv -o model
        twicetold calibrate model pairs.csv -o better

    The new folder is a copy of the model with another decision. The numbers of the new decision are what it is worth
    on other pairs of the kind, not on those that it was chosen on. If its log loss on these is not lower than that of
    the stored one by its standard error, nothing is written, and the exit code is 3. A model that was fitted without
    labels, or that drew the pairs, is calibrated by any labels by which a higher score is more alike.

    Pairs that label --compare VECTORS drew need no MODEL: what their cosine means is written to a .json file, for
    dedupe and for use without this program.
    """
    with progress("loading libraries"):
        from twicetold.labels.calibration import calibrate as fit
        from twicetold.labels.calibration import read_pairs, require_free_of, save_calibrated

    model, named = model_and_file(arguments, "calibrate")
    pairs = Path(named)
    if model is None and out.suffix != ".json":
        raise typer.BadParameter(
            f"expected a model before the pairs (twicetold calibrate MODEL {pairs} -o {out}), or for pairs that "
            "label --compare VECTORS drew a .json file with -o"
        )
    require_apart({"model": out}, {"pairs": pairs})
    loaded = None if model is None else load_model(model)
    if loaded is not None:
        require_free_of(loaded.folder, out, force=force)
    elif out.exists() and not force:
        raise FileExistsError(f"{out} is there: choose another file with -o, or replace it with --force")
    read = read_pairs(pairs, left=left, right=right, label=label, skip_bad=skip_bad, **file_format(format))
    tell_left_out(read.bad)
    if loaded is None:
        _decide(read, out, as_json=as_json)
        return
    with progress(f"fitting the decision to {pairs}"):
        result = fit(loaded, read)
    sure = loaded.decisions.of().unlabelled or result.links is not None  # any label of the file says more
    written = result.alike and (sure or result.better)
    if written:
        save_calibrated(loaded, out, result, read, file=pairs, force=force)
    _show(result, read, f"The model is in {out}" if written else "Nothing was written")
    if as_json:
        told = {"out": str(out), "pairs": len(read.label), "bad_rows": read.bad.count}
        print(json_text({**told, "written": written, **result.to_json()}))
    if written:
        tell(*_links(result, kept=bool(loaded.thresholds or loaded.record.validation)))
        return
    tell(
        "The pairs do not show that the new probabilities are better than the stored ones: the log loss has to be "
        f"lower by its standard error, {result.error:.3f}. Label more pairs, or keep the stored ones."
        if result.alike
        else f"By the labels, texts with a higher score are not more alike (slope {result.after.slope:.4g}): is 1 the "
        "label of duplicates? If so, this model cannot tell them apart."
    )
    raise typer.Exit(NO_BETTER)


def _decide(pairs: "CalibrationPairs", out: Path, *, as_json: bool) -> None:
    """Write what the cosine of vectors that were made elsewhere means, and say it."""
    from twicetold.files import write_json
    from twicetold.labels.decision_file import decision_file

    with progress("estimating what thresholds promise"):
        decision, links = decision_file(pairs)
        write_json(out, decision)
    if as_json:
        print(json_text(decision))
    tell(
        f"{_counted(pairs)}, of {links.pairs:,} pairs of nearest texts",
        _promises("links", "a cosine of {:.4g}".format, links),
        f"The decision is in {out}: twicetold dedupe {out} FILE --compare VECTORS",
    )


def _links(result: "Calibration", *, kept: bool) -> list[str]:
    """Return the lines on the use of the labels by dedupe and index."""
    if result.links is None:
        stay = "keep the thresholds of validation" if kept else "have no threshold for a precision"
        return [
            f"dedupe and index {stay}: only pairs that label drew from a file with this model, with the draw beside "
            "them, tell about all pairs of a file"
        ]
    if (matched := result.matched) is None:
        return [_promises("dedupe and index now link pairs", "a score of {:.4g}".format, result.links)]

    def probability(score: float) -> str:
        return f"{matched.decision.probability([score])[0]:.3g}"

    return [_promises("dedupe and index now link pairs", probability, matched.links)]


def _promises(what: str, at: "Callable[[float], str]", links: "LabelledLinks") -> str:
    """Describe the thresholds of one kind of links; `at` shows a threshold."""
    expected = {each.aimed: f"expected: {_shown(each.precision)}" for each in links.promised}
    each = [
        f"{link.aimed:g} is not reached"
        if link.threshold is None
        else f"{link.aimed:g} at {at(link.threshold)} or more ({expected[link.aimed]})"
        for link in links.links
    ]
    return (
        f"{what} at {at(links.f1_threshold)} or more, where F1 is highest (precision {expected[None]}). Precision of "
        f"links: {', '.join(each)}"
    )


def _show(result: "Calibration", pairs: "CalibrationPairs", end: str) -> None:
    from twicetold.trained.evidence import one_answer

    sides = ((result.before, result.stored), (result.after, result.fitted))
    rows = [("", "before", "after"), ("threshold", *(f"{decision.threshold:.4g}" for decision, _ in sides))]
    shares = ("accuracy", "precision", "recall")
    rows += [(name, *(_shown(getattr(quality, name)) for _, quality in sides)) for name in shares]
    rows += [("log loss", *(f"{quality.log_loss:.3f}" for _, quality in sides))]
    where = "all candidates of the file" if pairs.weighted or pairs.draw is not None else "all pairs like these"
    equal = f" Effective sample: {pairs.effective:,.0f}." if pairs.weighted else ""
    tell(
        f"{_counted(pairs)}{', weighted by the draw' if pairs.weighted else ''}",
        *flush_right(rows),
        f"95 % intervals for {where}; after: on labels that a decision was not fitted to.{equal} {end}",
    )
    for (_, quality), what in zip(sides, ("the stored threshold", "the new one"), strict=True):
        if warning := one_answer(quality.accuracy.value, pairs.share, what):
            tell(f"warning: {warning}")


def _counted(pairs: "CalibrationPairs") -> str:
    return f"{counted(len(pairs.label), 'pair')}, {counted(int(pairs.label.sum()), 'duplicate')}"


def _shown(number: "IntervalEstimate") -> str:
    return f"{number.value:.3f} ({number.low:.3f}, {number.high:.3f})"

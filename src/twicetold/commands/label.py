"""`twicetold label`: label pairs of a file's texts, and see what precision and recall the model has on them."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twicetold.commands._console import flush_right, tell
from twicetold.commands._options import LETTERS, Compare, Json, ModelAndFile, Reading, model_and_file, with_options
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import progress, require_usable
from twicetold.commands._session import ask_all
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.labels.estimates import Estimates, SampleEstimate
    from twicetold.labels.labelling import Labelling
    from twicetold.trained.loaded import LoadedModel


@with_options
def label(
    arguments: ModelAndFile,
    reading: Reading,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file for the labelled pairs.", show_default=False)],
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs", "-n", min=1, help="Number of pairs to draw; more than before adds pairs.", show_default="100"
        ),
    ] = None,
    compare: Compare = None,
    report: Annotated[bool, typer.Option("--report", help="Only report on the labels so far.")] = False,
    as_json: Json = False,
) -> None:
    """Label pairs of texts, and estimate precision and recall.

    Examples:
        twicetold label questions.csv -o pairs.csv
        twicetold label questions.csv -o pairs.csv --report

    Shows one pair at a time: y if the two texts are duplicates, n if not, ? if you cannot say, u undo, s stop. The same
    command goes on where it stopped. Without a terminal, answers are read from standard input, one a line. Without
    MODEL, letters and words are compared, and vectors where the extra static is installed, by a model that is fitted to
    the texts and kept in the folder OUT.model, for calibrate. With --compare, pairs are drawn by the cosine of your
    vectors, and calibrate says what it means.
    """
    with progress("loading libraries"):
        from twicetold.commands._dedupe_file import TextFile
        from twicetold.files import lock_beside, only_process
        from twicetold.labels.labelling import draw_file, labelling, read_labelling
        from twicetold.tables.streams import STANDARD

    model, name = model_and_file(arguments, "label", compare)
    file = Path(name)
    if report:
        _report(read_labelling(out), as_json=as_json)
        return
    if str(file) == STANDARD:
        raise ValueError("expected a file of texts, as standard input is for the answers")
    fitted = model_beside(out) if model is None else None
    require_apart({"pairs": out, "draw": draw_file(out), "model": fitted}, {"texts": file, "weights": model})
    if model is not None:
        require_usable(model)
    with only_process(lock_beside(out), f"label {out}"):
        read = TextFile.read(name, reading, added=())
        used = model or _fitted_beside(out, read, compare)
        with progress("drawing pairs"):
            state = labelling(out, model=used, texts=read.texts, file=file.name, pairs=pairs)
        tell(f"the answers are about {state.about}")
        ask_all(state)
        _report(state, as_json=as_json)


def model_beside(out: Path) -> Path:
    """Return the folder of the model that is fitted for a file of labelled pairs."""
    return out.with_name(f"{out.name}.model")


def _fitted_beside(out: Path, read: "TextFile", compare: str | None) -> "str | LoadedModel":
    """Return the folder of a model that is fitted to the texts; the one that is there, if labelling was begun with it.

    Vectors of these texts alone are a model that has no folder.
    """
    with progress("loading libraries"):
        from twicetold import layout
        from twicetold.commands._columns import fitted_to
        from twicetold.labels.labelling import draw_file

    if compare not in (None, LETTERS) and not Path(str(compare)).is_dir():
        return fitted_to(read, compare)
    folder = model_beside(out)
    if not (draw_file(out).exists() and (folder / layout.RECIPE).exists()):
        fitted_to(read, compare, folder=folder)
        tell(f"the model that compares the texts is in {folder}")
    return str(folder)


def _report(state: "Labelling", *, as_json: bool) -> None:
    """Print the table to stderr, and the same as JSON to stdout if asked for."""
    from twicetold.labels.estimates import estimate

    where = f" In {state.out}" if state.labels or state.skipped else ""  # the file is written with the first answer
    skipped = f", {len(state.skipped):,} skipped" if state.skipped else ""
    tell(
        f"{len(state.labels):,} of {counted(len(state.pairs), 'pair')} labelled{skipped}: "
        f"{counted(sum(state.labels.values()), 'duplicate')}.{where}"
    )
    estimates = estimate(state.sample()) if state.labels else None
    # no probability where nobody has labelled what the model is about
    likely = state.decision.probability(state.thresholds).tolist() if state.matched or not state.guessed else None
    if estimates is not None:
        tell(*_table(state, estimates, likely), *_sentences(state, estimates))
    if as_json:
        rows = [] if estimates is None else zip(estimates.at, likely or [None] * len(estimates.at), strict=True)
        content = {
            "out": str(state.out),
            "about": state.about,
            "drawn": len(state.pairs),
            "labelled": len(state.labels),
            "skipped": len(state.skipped),
            "labelled_duplicates": sum(state.labels.values()),
            "candidates": sum(state.candidates),
            "threshold": state.decision.threshold,
            "duplicates": None if estimates is None else estimates.duplicates,
            "thresholds": [{**asdict(row), "probability": probability} for row, probability in rows],
        }
        print(json_text(content))


def _table(state: "Labelling", estimates: "Estimates", probabilities: list[float] | None) -> list[str]:
    """Return a line for each threshold that some of the candidates reach, and for the stored one."""
    rows = [("", "threshold", *(("probability",) if probabilities else ()), "candidates", "precision", "recall")]
    for number, row in enumerate(estimates.at):
        stored = row.threshold == state.decision.threshold
        if stored or row.candidates not in (0, sum(state.candidates)):  # others are the same as none or all
            likely = (f"{probabilities[number]:.3f}",) if probabilities else ()
            shares = (_shown(row.precision), "–" if row.recall is None else f"{row.recall:.3f}")
            rows.append(("*" if stored else "", f"{row.threshold:.4g}", *likely, f"{row.candidates:,}", *shares))
    return flush_right(rows)


def _sentences(state: "Labelling", estimates: "Estimates") -> list[str]:
    """Return the scope of the table, and the number of labels that would make it more precise."""
    candidates, count, sample = sum(state.candidates), len(state.labels), state.sample()
    origin = "matcher's" if state.guessed else "stored"
    lines = [
        f"* the {origin} threshold, about {state.about}. Estimates for the {candidates:,} candidate pairs (each text's "
        f"nearest neighbours), of which about {estimates.duplicates:,.0f} are duplicates; of precision with intervals "
        "(95 %). Recall counts only duplicates among the candidates."
    ]
    if (more := 3 * count) <= candidates - count:  # intervals shrink with the root of the number
        pairs = count + len(state.skipped) + more
        asked = f" (--pairs {pairs})" if pairs > len(state.pairs) else ""  # else they are drawn already
        lines.append(f"About {counted(more, 'more label')} would halve the intervals{asked}.")
    if unlabelled := int(((sample.labelled == 0) & (sample.sizes > 0)).sum()):
        lines.append(
            f"{unlabelled} bands of scores have no labelled pair yet: the estimates leave them out, the intervals do "
            "not."
        )
    return lines


def _shown(estimate: "SampleEstimate") -> str:
    value = "–" if estimate.value is None else f"{estimate.value:.3f}"
    return f"{value} ({estimate.low:.3f}, {estimate.high:.3f})"

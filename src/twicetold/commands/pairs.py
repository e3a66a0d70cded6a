"""`twicetold pairs`: a file of pairs of texts."""

import time

from twicetold.commands._console import tell
from twicetold.commands._options import About, File, Format, Json, Left, Model, OutFile, Right, SkipBad, file_format
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import load_model, progress, require_usable, tell_left_out
from twicetold.printable import counted, json_text, print


def pairs(
    model: Model,
    file: File,
    out: OutFile = "-",
    left: Left = None,
    right: Right = None,
    about: About = None,
    format: Format = None,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Score each pair of a file: adds the columns score, probability and duplicate.

    Examples:
        twicetold pairs model candidates.csv -o scored.csv
        twicetold pairs model candidates.csv --left question --right other -o scored.jsonl

    A model that cannot decide leaves probability and duplicate empty, and says why.

    A bad row (a text is missing, a line is malformed) ends the command before anything is written; every one is
    counted and the first ten are named.
    """
    from dataclasses import asdict

    with progress("loading libraries"):
        from twicetold.tables.files import choose_pair, open_rows, write_rows
        from twicetold.use.pairs import score_file

    require_apart({"rows": out}, {"pairs": file, "weights": model}, summary=as_json)
    require_usable(model)
    spelling, count = file_format(format), 0
    with open_rows(file, **spelling) as rows:
        pair = choose_pair(rows, left, right)
        loaded = load_model(model)
        start = time.monotonic()
        written = {"format": spelling["format"] or rows.format, "delimiter": rows.delimiter}
        with progress("scoring") as status, write_rows(out, **written, at_once=not skip_bad) as write:

            def advance(more: int) -> None:
                nonlocal count
                count += more
                status.update(f"{count:,} pairs, {count / (time.monotonic() - start):,.0f} a second")

            scored = score_file(loaded, rows, write, pair, about=about, skip_bad=skip_bad, progress=advance)
    seconds = time.monotonic() - start
    if as_json:
        print(json_text({**asdict(scored), "columns": pair, "seconds": round(seconds, 3)}))
    rate = f"{seconds:.1f} s, {scored.pairs / seconds:,.0f} pairs a second"
    lines = [f"{counted(scored.pairs, 'pair')} of {pair[0]} and {pair[1]}"]
    if scored.duplicates is None:
        lines = [f"{lines[0]}, with scores alone; {rate}", f"no verdict about {scored.about}, as {scored.no_verdict}"]
    else:
        share = f" ({scored.duplicates / scored.pairs:.1%})" if scored.pairs else ""
        lines = [
            f"{lines[0]}, {scored.duplicates:,}{share} duplicates by the threshold {scored.threshold:.4g} about "
            f"{scored.about}; {rate}",
            f"threshold and probabilities rest on {scored.evidence}",
        ]
    tell(*lines, *(f"warning: {warning}" for warning in scored.warnings))
    tell_left_out(rows.bad)

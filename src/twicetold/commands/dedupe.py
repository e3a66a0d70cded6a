"""`twicetold dedupe`: groups of rows whose texts say the same."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twicetold.commands._options import (
    Format,
    Lexical,
    ModelAndFile,
    OutFile,
    Precision,
    Rule,
    SkipBad,
    Text,
    Threshold,
    model_and_file,
    tell_left_out,
)
from twicetold.dedupe.options import DEFAULTS, MOST_NEIGHBOURS, Keep
from twicetold.printable import json_text, print

if TYPE_CHECKING:
    from twicetold.dedupe.results import DedupeSummary, TextGroups

COLUMNS = ("group", "representative", "probability_to_representative")
SIMILARITY = "similarity_to_representative"  # of a model without calibration, in place of the probability
NO_PROMISE = (
    "no share of right links and no probability is promised, as nobody has labelled texts like these: twicetold label "
    "FILE -o pairs.csv, then twicetold calibrate pairs.csv.model pairs.csv -o MODEL, is the way to a promise"
)
LOOSEST = 5  # groups that the summary shows


def dedupe(
    arguments: ModelAndFile,
    out: OutFile = "-",
    text: Text = None,
    precision: Precision = DEFAULTS.precision,
    threshold: Threshold = DEFAULTS.threshold,
    lexical: Lexical = False,
    rule: Rule = DEFAULTS.rule,
    keep: Annotated[Keep, typer.Option(help="The text that represents a group.")] = DEFAULTS.keep,
    rerank: Annotated[str | None, typer.Option(metavar="MODEL", help="Model that scores the nearest pairs.")] = None,
    neighbours: Annotated[
        int, typer.Option(help="Nearest texts that are compared.", min=1, max=MOST_NEIGHBOURS)
    ] = DEFAULTS.neighbours,
    links: Annotated[str | None, typer.Option(metavar="FILE", help="File to write all linked pairs to.")] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Write representatives alone.")] = False,
    format: Format = None,
    skip_bad: SkipBad = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON to stdout.")] = False,
) -> None:
    """Group the rows of a file whose texts say the same; nothing is dropped without --drop.

    Columns are added: group, representative (the number of a row, from 1), probability_to_representative. Without
    MODEL the letters and words of the texts are compared, and vectors where the extra static is installed, and the last
    column is similarity_to_representative.
    """
    import sys

    import numpy as np

    from twicetold.tables.files import choose_text, open_rows, write_rows
    from twicetold.tables.streams import STANDARD, is_one_file
    from twicetold.use.model import fit, load

    model, file = model_and_file(arguments, "dedupe", lexical=lexical)
    if as_json and STANDARD in (out, links):
        raise typer.BadParameter("--json prints to stdout: write the rows to a file, with -o, and so the links")
    if links is not None and is_one_file(out, links):
        raise typer.BadParameter(f"the rows and the links would both go to {out}: name another file for the links")
    with open_rows(file, format=format) as rows:
        column = choose_text(rows, text)
        if taken := [name for name in (*COLUMNS, SIMILARITY) if name in rows.columns]:
            raise ValueError(f"{rows.name}: there is a column {taken[0]!r} already: rename it, or leave it out")
        loaded, reranker = (None if each is None else load(each) for each in (model, rerank))
        blocks = list(rows.blocks([column], skip_bad=skip_bad))
        bad = rows.bad
    tell_left_out(bad)
    texts = [each for block in blocks for each in block.texts(column)]
    if not texts:
        raise ValueError(f"{file}: there are no rows to group")
    found = (fit(texts, lexical=lexical) if loaded is None else loaded).dedupe(
        texts,
        precision=precision,
        threshold=threshold,
        rule=rule,
        keep=keep,
        rerank=reranker,
        neighbours=neighbours,
        progress=lambda step: print(step, file=sys.stderr),
    )
    names = COLUMNS if found.summary.calibrated else (*COLUMNS[:-1], SIMILARITY)
    values = (found.group, found.representative + 1, found.probability)
    kept = found.representative == np.arange(len(texts))
    # The smaller file comes first: either is there only once all of it is written.
    if links is not None:
        with write_rows(links, format=rows.format) as write:
            write(_links(found, texts))
    with write_rows(out, format=format or rows.format) as write:
        start = 0
        for block in blocks:
            part = slice(start, start + len(block))
            added = block.with_columns({name: each[part] for name, each in zip(names, values, strict=True)})
            write(added.where(kept[part]) if drop else added)
            start += len(block)
    if as_json:
        print(json_text(_summary(found, texts)))
    else:
        print(_told(found, texts), file=sys.stderr)
    if out != STANDARD:
        print(f"{out}: {int(kept.sum()) if drop else len(texts):,} rows", file=sys.stderr)


def _links(found: "TextGroups", texts: list[str]) -> Any:
    """A row a pair; the score of texts that are equal but for case and white space is empty."""
    import numpy as np
    import pyarrow as pa

    from twicetold.tables.blocks import Block

    again = np.flatnonzero(found.exact != np.arange(len(texts)))
    left, right = np.append(found.links.left, found.exact[again]), np.append(found.links.right, again)
    score = np.append(found.links.score, np.full(len(again), np.nan))
    order = np.lexsort((right, left))
    probability = np.append(found.links.probability, np.ones(len(again)))[order]
    table = pa.table(
        {
            "left": left[order] + 1,
            "right": right[order] + 1,
            "left_text": [texts[row] for row in left[order].tolist()],
            "right_text": [texts[row] for row in right[order].tolist()],
            "score": pa.array(score[order], from_pandas=True),
            "probability": probability if found.summary.calibrated else pa.nulls(len(order), pa.float64()),
            "exact": np.append(np.zeros(len(found.links), bool), np.ones(len(again), bool))[order],
        }
    )
    return Block(table, np.arange(1, len(order) + 1))


def _summary(found: "TextGroups", texts: list[str]) -> dict[str, Any]:
    """All numbers, and each group with its weakest link."""
    from dataclasses import asdict

    table = found.table
    several = [_group(found, texts, position) for position in range(len(table))]
    return {**asdict(found.summary), "each_group": several}


def _group(found: "TextGroups", texts: list[str], position: int) -> dict[str, Any]:
    table, links = found.table, found.links
    about: dict[str, Any] = {
        "group": int(table.group[position]),
        "size": int(table.size[position]),
        "distinct": int(table.distinct[position]),
        "density": float(table.density[position]),
        "weakest": None,
    }
    if table.distinct[position] > 1:
        link = int(table.weakest[position])
        left, right = int(links.left[link]), int(links.right[link])
        about["weakest"] = {
            "left": left + 1,
            "right": right + 1,
            "left_text": texts[left],
            "right_text": texts[right],
            "probability" if found.summary.calibrated else "similarity": float(links.probability[link]),
        }
    return about


def _told(found: "TextGroups", texts: list[str]) -> str:
    """The summary in sentences, with the loosest groups."""
    import numpy as np

    summary, table = found.summary, found.table
    since = f"probability {summary.probability:.3f} on (score {summary.threshold:.4f})"
    if not summary.calibrated:
        since = f"similarity {summary.threshold:.3f} on"
    lines = [
        f"{summary.texts:,} texts, {summary.distinct:,} of them distinct; {summary.links:,} links from {since}",
        f"{summary.groups:,} groups of {summary.grouped:,} texts, the largest of {summary.largest:,}; "
        f"{summary.texts - len(found.kept()):,} texts have another one as representative",
    ]
    if summary.precision is not None and summary.expected_precision is not None:
        least = "at least " if summary.lower_bound else ""
        lines.append(
            f"precision of links: {least}{summary.precision:.3f} where it was measured; with as many texts as here "
            f"and as many duplicates of each, {least}{summary.expected_precision:.3f}"
        )
    lines += _promised(summary)
    if summary.covered is not None:
        lines.append(
            f"{summary.covered:.1%} of the links are among the nearest of a text, as the labelled pairs were; the "
            "labels say nothing about the others"
        )
    if not summary.calibrated:
        lines.append(NO_PROMISE)
    if summary.labelled_pairs:
        lines.append(
            "warning: calibration and default threshold come from labelled pairs, among which duplicates are frequent; "
            "among all pairs of a file they are rare, so fewer of the links are right than the probabilities say"
        )
    if summary.unfinished:
        lines.append(
            f"warning: {summary.unfinished:,} texts may have more links than were looked for: raise the threshold"
        )
    loose = [position for position in np.lexsort((-table.size, table.density)) if table.distinct[position] > 1]
    if loose:
        lines.append("loosest groups (size, share of pairs that are links, weakest link that holds it together):")
    measure = "probability" if summary.calibrated else "similarity"
    for position in loose[:LOOSEST]:
        about = _group(found, texts, int(position))
        weakest = about["weakest"]
        lines.append(
            f"  {about['group']}: {about['size']} texts, {about['density']:.2f}, {weakest[measure]:.3f} "
            f"{weakest['left_text'][:60]!r} - {weakest['right_text'][:60]!r}"
        )
    return "\n".join(lines)


def _promised(summary: "DedupeSummary") -> Iterator[str]:
    """What files like this one keep."""
    if (promised := summary.promised) is None:
        if summary.precision is not None:
            yield "how far that precision varies from file to file is not known"
        return
    yield (
        f"nine of ten files of so many texts have a precision of at least {promised.least:.3f} (by text: expected "
        f"{promised.text_expected:.3f}, at least {promised.text_least:.3f})"
        + (", and more where duplicates are not labelled" if summary.lower_bound else "")
    )
    if summary.precision is not None and not summary.assured:
        yield (
            "warning: no threshold is known at which nine of ten files would keep the precision that was asked for: "
            "this one had it where it was measured"
        )

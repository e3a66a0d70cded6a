"""`twicetold topics`: rows of a file in groups by topic."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from twicetold.commands._options import (
    Compare,
    Json,
    ModelAndFile,
    OutFile,
    Reading,
    file_format,
    model_and_file,
    with_options,
)
from twicetold.commands._outputs import require_apart
from twicetold.commands._progress import load_model, progress, require_usable
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from twicetold.topics.grouping import Topics

Method = Literal["kmeans", "agglomerative"]  # `twicetold.topics.grouping`, which is slow to import
ADDED = ("topic", "topic_terms", "closeness")
SHOWN = 20  # topics in the summary
LONGEST = 60  # characters of a text in the summary


@with_options
def topics(
    arguments: ModelAndFile,
    reading: Reading,
    out: OutFile = "-",
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-k", help="Number of topics.", min=1, show_default="the root of half the rows, 50 at most"
        ),
    ] = None,
    method: Annotated[Method, typer.Option(help="agglomerative is for 5,000 rows at most.")] = "kmeans",
    compare: Compare = None,
    as_json: Json = False,
) -> None:
    """Group the rows of a file by topic; each topic is named by its most distinctive words.

    Examples:
        twicetold topics questions.csv -o topics.csv
        twicetold topics model questions.csv --count 20 -o topics.csv

    Columns are added: topic (a number from 0, the largest first), topic_terms, closeness (cosine to the topic's
    centre). All are empty for a text of which the model knows nothing. Without MODEL the letters and words of the texts
    are compared, and vectors where the extra static is installed.
    """
    import sys

    with progress("loading libraries"):
        from twicetold.commands._columns import fitted_to
        from twicetold.commands._dedupe_file import TextFile
        from twicetold.tables.files import write_rows
        from twicetold.tables.streams import STANDARD
        from twicetold.topics.spherical import require_few

    model, file = model_and_file(arguments, "topics", compare)
    if as_json and out == STANDARD:
        raise typer.BadParameter("--json prints to stdout: write the rows to a file, with -o")
    require_apart({"rows": out}, {"texts": file, "weights": model})
    if model is not None:
        require_usable(model)
    spelling = file_format(reading.format)
    with progress(f"reading {file}"):
        read = TextFile.read(file, text=reading.text, skip_bad=reading.skip_bad, added=ADDED, **spelling)
    if method == "agglomerative":
        require_few(len(read.texts))
    loaded = None if model is None else load_model(model)
    with progress("learning the words of the texts"):
        loaded = loaded or fitted_to(read, compare)
    grouped = loaded.topics(read.texts, count=count, method=method, progress=lambda step: print(step, file=sys.stderr))
    with write_rows(out, format=spelling["format"] or read.format, delimiter=read.delimiter) as write:
        start = 0
        for block in read.blocks:
            write(block.with_columns(_columns(grouped, slice(start, start + len(block)))))
            start += len(block)
    if as_json:
        print(json_text(_as_json(grouped, read.texts)))
    else:
        print("\n".join(_summary(grouped, read.texts)), file=sys.stderr)
    if out != STANDARD:
        print(f"{out}: {counted(len(read.texts), 'row')}", file=sys.stderr)


def _columns(grouped: "Topics", rows: slice) -> dict[str, Any]:
    """The columns that are added to some rows."""
    import numpy as np
    import pyarrow as pa

    topic = grouped.topic[rows]
    without = topic < 0
    names = pa.array(grouped.names, pa.string())
    place = pa.array(topic, mask=without)
    closeness = np.round(grouped.closeness[rows].astype(np.float64), 4)
    values = (place, names.take(place), pa.array(closeness, mask=without))
    return dict(zip(ADDED, values, strict=True))


def _as_json(grouped: "Topics", texts: list[str]) -> dict[str, Any]:
    """The summary, with every topic."""
    each = [
        {"topic": number, "size": size, "terms": list(terms), "central_row": row + 1, "central_text": texts[row]}
        for number, (size, terms, row) in enumerate(
            zip(grouped.size.tolist(), grouped.terms, grouped.central.tolist(), strict=True)
        )
    ]
    return {"texts": len(texts), "topics": len(grouped), "without_topic": _without(grouped), "each_topic": each}


def _summary(grouped: "Topics", texts: list[str]) -> list[str]:
    """The summary, with the largest topics."""
    lines = [
        f"{counted(len(texts), 'text')} in {counted(len(grouped), 'topic')} "
        "(number, texts, name, the text nearest to the centre):"
    ]
    for number in range(min(len(grouped), SHOWN)):
        central = texts[grouped.central[number]]
        lines.append(f"  {number}: {grouped.size[number]:,}  {grouped.names[number]}  {central[:LONGEST]!r}")
    if len(grouped) > SHOWN:
        lines.append(f"  and {counted(len(grouped) - SHOWN, 'smaller one')} (--json lists them)")
    if _without(grouped):
        lines.append(
            f"{counted(_without(grouped), 'text has', 'texts have')} no topic, as the model knows nothing of them"
        )
    return lines


def _without(grouped: "Topics") -> int:
    return int((grouped.topic < 0).sum())

#!/usr/bin/env python
"""Which edits of a text does a model notice, and which does it overlook?

Validation texts of a dataset (or the texts of a file) are edited in seven ways whose answer is known, and each model
says whether text and copy say the same. Prints flips, the wrong verdicts, by model and family, and writes
`probes.csv`, and `probes.svg` as a heat map, to the folder of --out.

    python tools/probe.py build/demo/runs/toy_questions-* --texts build/demo/data/processed/toy_questions
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.evaluation.intervals import Share
from twicetold.evaluation.labels import NoVerdict
from twicetold.files import csv_text, write_text
from twicetold.interpretation.probes import FAMILIES, flips, probes, save_flips_figure
from twicetold.printable import print
from twicetold.tables.files import choose_text, open_rows
from twicetold.trained.loaded import LoadedModel


def main(arguments: Sequence[str] | None = None) -> None:
    """Probe the models that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="run folders or model folders")
    parser.add_argument("--texts", type=Path, required=True, help="a prepared corpus, or a file with a column of texts")
    parser.add_argument("--each", type=int, default=200, help="probes of a family at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("reports"), help="folder to write to")
    chosen = parser.parse_args(arguments)
    with readable_errors():
        asked = probes(texts_in(chosen.texts), each=chosen.each, seed=chosen.seed)
        found: dict[str, dict[str, Share]] = {}
        for place in chosen.models:
            folder = place if (place / layout.RECIPE).is_file() else place / layout.MODEL
            name = name_of(place)
            try:
                found[f"{place}" if name in found else name] = flips(LoadedModel.from_folder(folder), asked)
            except NoVerdict as error:
                print(f"{place}: left out, {error}", file=sys.stderr)
        if not found:
            raise ValueError("expected a model that gives a verdict, none of those that are named does")
        print(table(found))
        write_text(chosen.out / "probes.csv", csv_of(found))
        save_flips_figure(chosen.out / "probes.svg", found)


def name_of(place: Path) -> str:
    """The name of the run that a folder is of, or has the model of."""
    resolved = place.resolve()
    return resolved.parent.name if resolved.name == layout.MODEL else resolved.name


def texts_in(place: Path) -> list[str]:
    """The validation texts of a corpus, or the texts of a file."""
    if place.is_dir():
        return Corpus.load(place).texts_of("val")
    with open_rows(place) as rows:
        column = choose_text(rows, None)
        return [text for block in rows.blocks([column]) for text in block.texts(column)]


def table(found: dict[str, dict[str, Share]]) -> str:
    """Flips as text, a line for each model."""
    width = max(map(len, found))
    lines = [f"{'flips of probes':{width}}  " + "  ".join(f"{family:>10}" for family in FAMILIES)]
    for model, of_model in found.items():
        counts = (f"{each.count}/{each.total}" for each in of_model.values())
        lines.append(f"{model:{width}}  " + "  ".join(f"{count:>10}" for count in counts))
    return "\n".join(lines)


def csv_of(found: dict[str, dict[str, Share]]) -> str:
    """Flips as a table with Wilson's intervals."""
    rows = [
        (model, family, each.count, each.total, each.value, *(each.interval or ("", "")))
        for model, of_model in found.items()
        for family, each in of_model.items()
    ]
    return csv_text(("model", "family", "flips", "probes", "share", "low", "high"), rows)


if __name__ == "__main__":
    main()

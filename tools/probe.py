#!/usr/bin/env python
"""Which edits of a text does a model notice, and which does it overlook?

Validation texts of a dataset (or the texts of a file) are edited in seven ways whose answer is known, and each model
says whether text and copy say the same. Prints flips, the wrong verdicts, by model and family, and writes
`probes.csv`, and `probes.svg` as a heat map, to the folder of --out.

    python tools/probe.py build/demo/runs/toy_questions-* --texts build/demo/data/processed/toy_questions
    python tools/probe.py runs/quora_wang-*-0 --texts data/processed/quora_wang --study

With `--study` they go to runs/study-probes.json as well, in place of those of the same dataset, for RESULTS.md and the
report.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.evaluation.intervals import Share
from twicetold.evaluation.labels import NoVerdict
from twicetold.files import csv_text, write_text
from twicetold.printable import print
from twicetold.tables.files import choose_text, open_rows
from twicetold.trained.loaded import LoadedModel
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.interpretation.probes import FAMILIES, flips, probes, save_flips_figure
from twicetold_lab.reporting.studies import Study, StudyCell, StudyTable, read_study, write_study

STUDY, TITLE = "probes", "Probes"
HOW_TO_READ = (
    "Validation texts are edited in seven ways whose answer is known, and each model says by its own threshold whether "
    "text and copy say the same. A value is the share of wrong verdicts, with Wilson's 95 % interval. Edits of number, "
    "negation, entity, order and unit change the meaning; those of typo and case do not. Flips compare models on edits "
    "of a word or two; they are no error rate of any data, in which such pairs may be rare.",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Probe the models that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="run folders or model folders")
    parser.add_argument("--texts", type=Path, required=True, help="a prepared corpus, or a file with a column of texts")
    parser.add_argument("--each", type=int, default=200, help="probes of a family at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("reports"), help="folder to write to")
    parser.add_argument("--study", action="store_true", help="write them for RESULTS.md and the report as well")
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
        if chosen.study:
            keep(found, chosen.texts.name, Path("runs"))


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


def keep(found: Mapping[str, Mapping[str, Share]], data: str, runs: Path) -> None:
    """Write flips of runs called `<data>-<model>-<seed>` as a table of the study, beside those of other data."""
    rows = [
        ((run.removeprefix(f"{data}-").rpartition("-")[0] or run, ""), list(map(cell, of_model.values())))
        for run, of_model in found.items()
    ]
    columns = [(family, f"{of_family.total} pairs") for family, of_family in next(iter(found.values())).items()]
    former = read_study(STUDY, runs)
    kept = {each.data: each for each in former.tables} if former else {}
    kept[data] = StudyTable(data, f"{TITLE}: {data}", "model", columns, rows)
    write_study(Study(TITLE, HOW_TO_READ, [kept[name] for name in sorted(kept)]), STUDY, runs)


def cell(flipped: Share) -> StudyCell:
    """The share of probes that flip."""
    return StudyCell(flipped.value, "share", interval=flipped.interval) if flipped.total else StudyCell()


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

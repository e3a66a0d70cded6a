"""Small copies of `static` and `pretrained_static`, each with a model card that says what the export changed.

`static_table` makes them. What one loses is measured on validation, if the data of the training are there; test is
never read.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twicetold import layout
from twicetold.evaluation.inputs import ScoredPairs
from twicetold.files import require_free, write_folder, write_text
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.locate import folder_of
from twicetold.trained.reading import SAMPLE
from twicetold.trained.scoring import TrainedModel
from twicetold.trained.static_table import KEPT, SCALES, TABLE, Bits, is_table, save_table
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.evaluation.selection import PRIMARY, Selection
from twicetold_lab.reporting.glossary import describe, size
from twicetold_lab.reporting.model_card import model_card
from twicetold_lab.runs.folder import RunFolder
from twicetold_lab.scoring.duplicates import evaluation_inputs, primary_value

CARD = "README.md"
WRITTEN = frozenset({*KEPT, TABLE, SCALES, layout.RECIPE, CARD})
"""All that may be in an exported model, so that a folder of other files is never replaced."""


@dataclass(frozen=True)
class Exported:
    """Result of an export.

    Args:
        folder: where it is.
        before: bytes of the model folder.
        after: bytes of the new one.
        on_validation: metric -> value before and after; empty if it was not measured.
    """

    folder: Path
    before: int
    after: int
    on_validation: dict[str, tuple[float, float]]


def export_table(model: str, out: Path, *, bits: Bits, processed: Path, cards: Path) -> Exported:
    """Write a small copy of a `static` or `pretrained_static` model, which `twicetold.load` reads.

    Args:
        model: what `twicetold.load` takes.
        out: the new folder.
        bits: of each number of the table.
        processed: folder of prepared corpora; the loss is measured if that of the model's data is there, unchanged.
        cards: folder of the cards of datasets.

    Raises:
        FileExistsError: if `out` holds other files than an exported model.
        FileNotFoundError: if there is no trained model.
        ValueError: if the model is of another family, or `out` is the model itself.
    """
    folder = folder_of(model)
    require_free(out, apart_from=folder, replaces=layout.RECIPE)
    _require_export(out)
    with write_folder(out) as target:
        save_table(folder, target, bits=bits)
        measured = _measured(folder, target, processed)
        made = Exported(out, _bytes(folder), _bytes(target), measured)
        write_text(target / CARD, _card(model, made, bits, cards))
    return made


def _require_export(out: Path) -> None:
    """Check that a folder that would be replaced is an exported model and nothing more, such as a repository."""
    there = sorted(entry.name for entry in out.iterdir()) if out.is_dir() else []
    others = [name for name in there if name not in WRITTEN]
    if others or (there and not is_table(out)):
        holds = f"holds {others[0]}" if others else "is another model"
        raise FileExistsError(
            f"expected a new folder or an earlier export, {out} {holds}, so it is not replaced: choose another name"
        )


def _card(model: str, made: Exported, bits: Bits, cards: Path) -> str:
    about = RunFolder.with_model(Path(model) if Path(model).is_dir() else folder_of(model))
    sizes = f"{size(made.after)} in all, {size(made.before)} before"
    lines = [f"The table of vectors is stored as {bits}: {sizes}.\n"]
    for name, (before, after) in made.on_validation.items():
        metric = describe(name)
        change = f"{100 * (after - before):+.2f} points"
        lines.append(f"- {metric.label} on validation: {before:.4f} before, {after:.4f} after ({change})")
    if not made.on_validation:
        lines.append("What this changed was not measured: the data of the training were not there.")
    lines.append("\nThe numbers under Quality were measured before the export.\n")
    return model_card(about, cards=cards, use=str(made.folder), exported="\n".join(lines))


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _measured(model: Path, out: Path, processed: Path) -> dict[str, tuple[float, float]]:
    """Metrics on validation before and after."""
    about = RunFolder.with_model(model)
    place = processed / (about.data or "")
    if about.data is None or not (place / "card.json").is_file():
        return {}
    corpus = Corpus.load(place)
    if corpus.train_digest() != about.digest:
        return {}
    models = (LoadedModel.from_folder(folder).trained for folder in (model, out))
    before, after = (_on_validation(each, corpus, about.primary) for each in models)
    return {name: (value, after[name]) for name, value in before.items()}


def _on_validation(trained: TrainedModel, corpus: Corpus, primary: str | None) -> dict[str, float]:
    read = trained.read_corpus(lambda featuriser, _: featuriser.transform(corpus.texts.to_pylist()))
    val = evaluation_inputs(read, corpus, "val", at_most=SAMPLE)
    selection = Selection({**PRIMARY, corpus.kind: primary} if primary else PRIMARY)
    name, value = primary_value(read, corpus, selection, inputs=val, at_most=SAMPLE)
    found = {name: value}
    if isinstance(val, ScoredPairs) and corpus.kind == "labelled_pairs":
        found["accuracy"] = float(np.mean(trained.decision.duplicate(val.score) == (val.label > 0.5)))
    return found

"""Labels of a person for pairs that were drawn from a file of texts; files, so that one can stop and go on.

- The file of labels, `pairs.csv`, has a row for each labelled pair. It is what a person may correct by hand, what
  `data=pairs` trains on and `calibrate` reads.
- The draw, `pairs.csv.draw.json`, has all drawn pairs, the sizes of the bands and the pairs that were skipped.
- Where no trained model drew them, `pairs.csv.draw.npz` has the features of the candidates, or their cosines by
  vectors that were made elsewhere, for `calibrate`.

All are replaced as a whole after each answer, under a temporary name first, so a kill loses no answer.

Shape letters: m drawn pairs, H bands, T thresholds.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold import layout
from twicetold.dedupe.options import DEFAULTS
from twicetold.dedupe.pairs import LOG_ODDS
from twicetold.dedupe.prepared import Prepared
from twicetold.dedupe.thresholds import Thresholds
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.stored import json_object, record
from twicetold.files import csv_text, write_json, write_text
from twicetold.fingerprint import LENGTH, folder_digest
from twicetold.labels.estimates import Sample
from twicetold.labels.matched_links import MatchedCandidates
from twicetold.labels.sampling import candidate_pairs, draw, draw_by_probability
from twicetold.printable import counted
from twicetold.tables.blocks import Block
from twicetold.tables.columns import MISSING, BadValues, answers_of
from twicetold.tables.files import Rows, open_rows
from twicetold.trained.folder_files import folder_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.threshold_record import read_decisions
from twicetold.trained.vectors_identity import fingerprint

PAIRS = 100  # drawn unless another number is asked for
SCORE = "score"  # name of the cosines beside a draw
COLUMNS = ("pair", "left", "right", "label", "score", "band", "inclusion_probability")


@dataclass(frozen=True)
class DrawnPair:
    """A drawn pair. `band` is its band of scores, from 0."""

    left: str
    right: str
    score: float
    band: int

    @property
    def place(self) -> tuple[str, str, int]:
        """Texts and band: the last digits of scores differ between processors."""
        return self.left, self.right, self.band


@dataclass(kw_only=True)
class Labelling:
    """Drawn pairs and the answers so far.

    Args:
        out: the file of labels.
        source: what the pairs were drawn from: `model` and `texts` (digests), `seed`; and the `label` that the answers
            are about.
        candidates: number of candidates in each of H bands.
        thresholds: T scores.
        above: (H, T) candidates of each band at or above each threshold.
        file: name of the file of texts.
        texts: number of its distinct texts.
        guessed: whether the model was fitted without labels: its threshold is the generic matcher's.
        matched: whether scores are the generic matcher's log odds.
        width: numbers of a vector, of vectors that were made elsewhere.
        decision: of the model, about this label.
        pairs: in the order in which to label them.
        labels: number of a pair, from 0 -> whether the two texts are duplicates.
        skipped: numbers of pairs.
    """

    out: Path
    source: dict[str, Any]
    candidates: list[int]
    thresholds: list[float]
    above: list[list[int]]
    file: str = ""
    texts: int = 0
    guessed: bool = False
    matched: bool = False
    width: int | None = None
    decision: Decision
    pairs: list[DrawnPair]
    labels: dict[int, bool] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)

    @property
    def about(self) -> str:
        """The label that duplicates share."""
        return str(self.source["label"])

    @property
    def count(self) -> int:
        """Number of drawn pairs."""
        return len(self.pairs)

    @property
    def next(self) -> int | None:
        """The first pair that is neither labelled nor skipped; None if there is none."""
        answered = self.labels.keys() | self.skipped
        return next((number for number in range(len(self.pairs)) if number not in answered), None)

    def sides(self, number: int) -> tuple[str, str]:
        """Return both texts of a pair."""
        return self.pairs[number].left, self.pairs[number].right

    def label(self, number: int, same: bool | None) -> None:
        """Keep a label; None: leave the pair out, which counts as if it were like the labelled ones of its band."""
        if same is None:
            self.skipped.add(number)
            self.save_draw()
        else:
            self.labels[number] = same
        self._save_labels()

    def back(self, number: int) -> bool:
        """Forget the answer to the last pair before this one; False if there is none."""
        before = [other for other in self.labels.keys() | self.skipped if other < number]
        if not before:
            return False
        if (last := max(before)) in self.skipped:
            self.skipped.remove(last)
            self.save_draw()
        else:
            del self.labels[last]
        self._save_labels()
        return True

    def sample(self) -> Sample:
        """Return the labelled pairs with what is known of the candidates."""
        numbers, bands = sorted(self.labels), len(self.candidates)
        band = np.array([pair.band for pair in self.pairs], np.int64)
        drawn = np.bincount(band, minlength=bands)
        probability = self.decision.probability(np.array([pair.score for pair in self.pairs], np.float64))
        likely = np.bincount(band, probability, minlength=bands) / np.maximum(drawn, 1)
        return Sample(
            np.array([self.pairs[number].score for number in numbers], np.float64),
            np.array([self.labels[number] for number in numbers], bool),
            np.array([self.pairs[number].band for number in numbers], np.int64),
            np.array(self.candidates),
            np.array(self.thresholds),
            np.array(self.above),
            np.where(drawn > 0, likely, 0.5),
        )

    def save_draw(self) -> None:
        """Write the draw and the skipped pairs."""
        content = {name: value for name, value in asdict(self).items() if name not in ("out", "labels")}
        write_json(draw_file(self.out), {**content, "skipped": sorted(self.skipped)})

    def _save_labels(self) -> None:
        if not (self.labels or self.skipped):
            self.out.unlink(missing_ok=True)
            return
        rows = []
        for number, probability in zip(sorted(self.labels), self.sample().probability.tolist(), strict=True):
            pair, same = self.pairs[number], int(self.labels[number])
            # A file reader takes a carriage return for the end of a row where the writer does not quote it.
            left, right = (text.replace("\r\n", "\n").replace("\r", "\n") for text in (pair.left, pair.right))
            rows.append((number + 1, left, right, same, pair.score, pair.band, probability))
        write_text(self.out, csv_text(COLUMNS, rows))


def draw_file(out: Path) -> Path:
    """Return the file of the draw."""
    return out.with_name(f"{out.name}.draw.json")


def features_file(out: Path) -> Path:
    """Return the file of the candidates' features."""
    return out.with_name(f"{out.name}.draw.npz")


def labelling(
    out: Path,
    *,
    model: str | Path | LoadedModel,
    texts: Sequence[str],
    file: str = "",
    pairs: int | None = None,
) -> Labelling:
    """Return the labelling that was begun in `out`, or a new one with pairs drawn from `texts`.

    The model is loaded only where pairs are drawn. Its decision is used for the draw also where it gives no verdict:
    labels are how such a model comes to one.

    Args:
        out: the file of labels, which ends in .csv.
        model: what `twicetold.load` takes, or one of vectors that were made elsewhere (`fit(texts, vectors=)`).
        texts: of the file; equal ones are one text.
        file: its name.
        pairs: to draw; more than before adds to the draw. None: as before, or 100.

    Raises:
        FileNotFoundError: if there is no trained model.
        TypeError: if the family scores pairs only.
        ValueError: if `out` is of another model, other texts or another label, or was not written by this command.
    """
    if out.suffix.lower() != ".csv":
        raise ValueError(f"expected a file of labels that ends in .csv, got {out}")
    distinct = list(dict.fromkeys(text.strip() for text in texts))
    begun = read_labelling(out) if draw_file(out).exists() else None
    if begun is None and out.exists():
        raise ValueError(
            f"{out} is there, and the draw that it belongs to is not ({draw_file(out)}): choose another file with -o"
        )
    place = model if isinstance(model, LoadedModel) else folder_of(model)
    decisions = place.decisions if isinstance(place, LoadedModel) else read_decisions(place)
    digest = hashlib.sha256(json.dumps(distinct).encode()).hexdigest()
    source = {"model": _model_digest(place, distinct), "texts": digest, "seed": 0, "label": decisions.of().label}
    if begun is None:
        begun = _draw(out, place, distinct, source, pairs=PAIRS if pairs is None else pairs)
        begun.file = file
        begun.save_draw()
        return begun
    if differing := [name for name in source if source[name] != begun.source.get(name)]:
        raise ValueError(
            f"{out} was begun with another {differing[0].removesuffix('s')} than this one, so its weights would be "
            "wrong: give the same, or choose another file with -o"
        )
    if pairs is not None and pairs > len(begun.pairs):
        larger = _draw(out, place, distinct, source, pairs=pairs)
        if [each.place for each in larger.pairs[: len(begun.pairs)]] != [each.place for each in begun.pairs]:
            raise ValueError(
                f"cannot add pairs to {out}: on this machine the model ranks pairs otherwise than when it was begun. "
                "Choose another file with -o"
            )
        begun.pairs = larger.pairs
        begun.save_draw()
    return begun


def read_labelling(out: Path) -> Labelling:
    """Return the labelling in `out`, without its model.

    Raises:
        FileNotFoundError: if none was begun there.
        ValueError: if a file is damaged; the message names the row.
    """
    file = draw_file(out)
    if not file.is_file():
        raise FileNotFoundError(f"no labelling was begun in {out}: there is no file {file}")
    try:
        content = json_object(file, file.name)
        decision = record(Decision, content.pop("decision"), "'decision'")
        pairs = [DrawnPair(**pair) for pair in content.pop("pairs")]
        begun = Labelling(out=out, decision=decision, pairs=pairs, skipped=set(content.pop("skipped")), **content)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file} is damaged ({error}): remove it and {out}, and begin again") from error
    if out.exists():
        begun.labels = _labels(out, len(pairs))
    begun.skipped -= begun.labels.keys()
    return begun


def labels_of(rows: Rows, block: Block, column: str) -> NDArray[np.int64]:
    """Return (R,) answers in a column of R rows of a file; see `tables.columns.answers_of`.

    Raises:
        ValueError: if a value is no answer; names the file and the line.
    """
    try:
        return answers_of(block.table[column])
    except BadValues as error:
        place = f"{rows.name}, {rows.unit} {block.lines[error.rows[0]]}, column {column!r}"
        raise ValueError(f"{place}: expected {error.expected}; got {error.value}") from error
    except TypeError as error:
        raise ValueError(f"{rows.name}, column {column!r}: {error}") from error


def _labels(out: Path, pairs: int) -> dict[int, bool]:
    labels: dict[int, bool] = {}
    with open_rows(out) as rows:
        for name in ("pair", "label"):
            rows.require(name)
        for block in rows.blocks([]):
            answers = labels_of(rows, block, "label").tolist()
            for line, number, same in zip(block.lines.tolist(), block.table["pair"].to_pylist(), answers, strict=True):
                if same == MISSING:  # not answered, such as one that was taken back by hand
                    continue
                if not (number.isdecimal() and 0 < int(number) <= pairs and int(number) - 1 not in labels):
                    raise ValueError(
                        f"{out}, line {line}, column 'pair': expected the number of a drawn pair, 1 to {pairs}, each "
                        f"once; got {number!r}"
                    )
                labels[int(number) - 1] = same == 1
    return labels


def _draw(
    out: Path, place: Path | LoadedModel, texts: Sequence[str], source: dict[str, Any], *, pairs: int
) -> Labelling:
    model = place if isinstance(place, LoadedModel) else LoadedModel.from_folder(place)
    about = model.decisions.of(source["label"])
    decision = about.stored
    of_vectors = isinstance(place, LoadedModel)  # what the labels say is to be about their cosine
    if matched := not of_vectors and Thresholds.of(model, DEFAULTS, by_matcher=True).by_matcher:
        prepared = Prepared.of(model, texts, DEFAULTS, progress=lambda _: None)
        assert prepared.comparison is not None
        texts, comparison, decision = prepared.distinct.texts, prepared.comparison, LOG_ODDS
        (left, right), columns, score = comparison.ends, comparison.columns, comparison.log_odds
    else:
        left, right, score = candidate_pairs(model, texts)
        columns = {SCORE: score.astype(np.float32)}
    if not len(score):
        none = f"none of the {counted(len(texts), 'text')} shares a term with another one"
        raise ValueError(f"{none}: there is no pair to label")
    drawn = draw_by_probability(score, pairs=pairs) if matched else draw(score, decision, pairs=pairs)
    if matched or of_vectors:
        MatchedCandidates.of(columns, score, drawn.rows).save(features_file(out))
    sides = (left, right, score)
    rows = zip(*(side[drawn.rows].tolist() for side in sides), drawn.band.tolist(), strict=True)
    return Labelling(
        out=out,
        source=source,
        candidates=drawn.sizes.tolist(),
        thresholds=drawn.thresholds.tolist(),
        above=drawn.above.tolist(),
        texts=len(texts),
        guessed=about.unlabelled,
        matched=matched,
        width=model.encode(texts[:1]).shape[1] if of_vectors else None,
        decision=decision,
        pairs=[DrawnPair(texts[left], texts[right], score, band) for left, right, score, band in rows],
    )


def _model_digest(folder: Path | LoadedModel, texts: Sequence[str]) -> str:
    """Return the digest of all that decides the model's scores and its verdicts, or of the vectors of these texts."""
    if isinstance(folder, LoadedModel):
        return hashlib.sha256(np.asarray(folder.encode(texts)).tobytes()).hexdigest()[:LENGTH]
    return f"{fingerprint(folder)}-{folder_digest(folder, [layout.DECISION])[:LENGTH]}"

"""Scores of the pairs of a file: by the matcher, which compares all its texts, or by a model, in constant memory.

Shape letters: R pairs of a block.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold.dedupe.compared_pairs import ComparedPairs
from twicetold.neighbours.parallel import serial_products, threads
from twicetold.tables.blocks import Block
from twicetold.tables.files import Rows, Write
from twicetold.trained.columns import ColumnEncoder
from twicetold.trained.drift import Drift
from twicetold.trained.evidence import no_better_than_one_answer, of_pairs
from twicetold.trained.scoring import Scorer
from twicetold.use.model import Model

COLUMNS = ("score", "probability", "duplicate")
PIECE = 2048  # pairs that a family of PyTorch scores at once
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Scored:
    """Summary of a scored file of pairs."""

    pairs: int
    duplicates: int | None
    """Pairs that are called the same; None if the model gives no verdict."""
    bad_rows: int
    warnings: tuple[str, ...]
    """Ways in which the file is unlike what the model was trained on, and what its labels say against it."""
    about: str
    """The label that the verdicts are about."""
    no_verdict: str | None
    """Why there are none."""
    threshold: float | None
    """Score from which pairs are called the same."""
    evidence: str | None
    """What threshold and probabilities rest on, in words."""


def score_file(
    model: Model,
    rows: Rows,
    write: Write,
    pair: tuple[str, str],
    *,
    about: str | None = None,
    skip_bad: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Scored:
    """Write each row with its score, probability and verdict; of a model without a verdict these two are empty.

    Of a model that was fitted to texts, the matcher compares the pairs, as a dedupe of all their texts does.

    Args:
        model: a trained model.
        rows: an open file.
        write: takes the rows with the further columns `COLUMNS`.
        pair: the columns of `rows` with the two texts.
        about: the label of the verdicts; None: `Model.about`.
        skip_bad: leave bad rows out, instead of ending with an error that names them.
        progress: told how many more pairs have been scored.

    Raises:
        ValueError: if there are bad rows, a column of `COLUMNS` is there already, or the model knows no such label.
    """
    label = model.decisions.of(about).label
    if taken := [name for name in COLUMNS if name in rows.columns]:
        raise ValueError(f"{rows.name} has a column {taken[0]!r} already: rename it or leave it out")
    blocks, told = rows.blocks(pair, skip_bad=skip_bad), progress or (lambda count: None)
    if not model.by_matcher:
        return _by_model(model, rows, _scored(model, blocks, pair, told), write, pair, label)
    whole, start = [*blocks], 0
    compared = ComparedPairs.of(model, *([text for block in whole for text in block.texts(side)] for side in pair))
    columns = {
        "score": pa.array(compared.score, from_pandas=True),  # empty where both texts are equal
        "probability": pa.array(compared.probability),
        "duplicate": pa.array(compared.duplicate),
    }
    for block in whole:
        write(block.with_columns({name: column.slice(start, len(block)) for name, column in columns.items()}))
        told(len(block))
        start += len(block)
    called, bad = int(compared.duplicate.sum()), rows.bad.count
    return Scored(start, called, bad, compared.warnings, label, None, compared.threshold, compared.evidence)


def _by_model(
    model: Model,
    rows: Rows,
    scored: Iterable[tuple[Block, Scores]],
    write: Write,
    pair: tuple[str, str],
    label: str,
) -> Scored:
    """Write blocks with their scores, and what the model makes of these, in constant memory."""
    verdicts = model.decisions.of(label)
    decision = None if verdicts.no_verdict else verdicts.usable
    duplicates = 0
    drift = Drift(model)
    for block, scores in scored:
        drift.add(block.texts(pair[0]))
        drift.add(block.texts(pair[1]))
        if decision is None:
            nothing = (pa.nulls(len(scores), kind) for kind in (pa.float32(), pa.bool_()))
            write(block.with_columns(dict(zip(COLUMNS, (scores, *nothing), strict=True))))
            continue
        duplicate = decision.duplicate(scores)
        probability = decision.probability(scores).astype(np.float32)
        write(block.with_columns(dict(zip(COLUMNS, (scores, probability, duplicate), strict=True))))
        duplicates += int(duplicate.sum())
    against = no_better_than_one_answer(model.record, label)
    return Scored(
        rows.count,
        None if decision is None else duplicates,
        rows.bad.count,
        (*drift.warnings(), *(() if against is None else (against,))),
        label,
        verdicts.no_verdict,
        None if decision is None else decision.threshold,
        None if decision is None else of_pairs(model.record, label),
    )


def _scored(
    model: Model, blocks: Iterable[Block], pair: tuple[str, str], progress: Callable[[int], None]
) -> Iterator[tuple[Block, Scores]]:
    """Yield blocks in order, with (R,) scores.

    Lexical and static families spend their time in NumPy and Arrow, so several blocks are scored at once, each on a
    thread. Others spend it in PyTorch, which has threads of its own.
    """
    if not (isinstance(model.trained, Scorer) and isinstance(model.trained.encoder, ColumnEncoder)):
        for block in blocks:
            left, right = (block.texts(side) for side in pair)
            pieces = [np.empty(0, np.float32)]
            for start in range(0, len(block), PIECE):
                pieces.append(model.similarity(left[start : start + PIECE], right[start : start + PIECE]))
                progress(len(pieces[-1]))
            yield block, np.concatenate(pieces)
        return

    def score(block: Block) -> Scores:
        return model.similarity(*(block.texts(side) for side in pair))

    most = threads()
    waiting: deque[tuple[Block, Future[Scores]]] = deque()
    with serial_products() as alone:
        pool = ThreadPoolExecutor(most, initializer=alone)
        try:
            for block in blocks:
                waiting.append((block, pool.submit(score, block)))
                if len(waiting) > most:
                    yield _done(waiting, progress)
            while waiting:
                yield _done(waiting, progress)
        finally:
            pool.shutdown(cancel_futures=True)


def _done(waiting: deque[tuple[Block, Future[Scores]]], progress: Callable[[int], None]) -> tuple[Block, Scores]:
    block, future = waiting.popleft()
    scores = future.result()
    progress(len(block))
    return block, scores

"""Cost of a staged dedupe: tasks, memory, disk and processor time by stage, before it begins.

Rows of Parquet are counted; those of other formats are estimated by the size of a row in the first part that has some,
and of compressed ones by how far their first bytes unpack.
How long it takes to read and to encode a text, and to multiply, is measured here, on some texts of the same part. The
rest follows from the number of rows; `docs/guides/scale.md` compares it with what was measured.
"""

import gc
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse

from twicetold.neighbours.cells import PER_CENTRE, PROBES, ROUNDS
from twicetold.staged.dedupe import copies, with_shards
from twicetold.staged.model import loaded
from twicetold.staged.parts import parts_of, require_own
from twicetold.staged.plan import BLOCK, LIBRARIES, Part, Plan, Settings
from twicetold.staged.texts import hashes_of
from twicetold.tables.blocks import Block
from twicetold.tables.files import choose_text, open_rows
from twicetold.tables.reading import ROWS
from twicetold.tables.streams import compression_of, format_of
from twicetold.trained.memory import forget_peak, peak_resident
from twicetold.trained.scoring import search_vectors

TRIED = 4096  # texts that are encoded to see how long it takes
WITH_MODEL = 600_000_000  # of one that encodes
UNEQUAL = 2.0  # more pairs share a cell than if all cells were as large
GROUPED = 2e-5  # seconds a text to number, group and write rows
PRODUCT = 1e-8  # seconds a product of sparse entries
COMPRESSED = 0.6  # of a text's bytes that its copy takes
TEXT = 6  # times its bytes that a text of a batch takes while a part is read
UNPACKED = 1 << 22  # bytes of a compressed part that are unpacked to see how large the whole is


@dataclass(frozen=True)
class Stage:
    """A stage.

    Args:
        name: of the stage.
        tasks: that can run at a time.
        memory: most bytes of a process.
        disk: bytes that it writes, for as long as they are needed.
        cpu: seconds of processor time.
    """

    name: str
    tasks: int
    memory: float
    disk: float
    cpu: float


@dataclass(frozen=True)
class Estimate:
    """Cost of all stages.

    Args:
        parts: number of them.
        rows: of all; of formats other than Parquet, about.
        cells: of dense vectors; 0: all texts are compared.
        stages: in order.
        disk: most bytes that are there at a time.
        free: bytes that there are.
    """

    parts: int
    rows: int
    cells: int
    stages: tuple[Stage, ...]
    disk: float
    free: int

    @property
    def cpu(self) -> float:
        """Seconds of processor time."""
        return sum(stage.cpu for stage in self.stages)


def estimate(folder: Path, settings: Settings) -> Estimate:
    """Look at the parts and at the model, and write nothing. Errors: `dedupe.dedupe_folder`."""
    parts = parts_of(folder)
    require_own(folder, Path(settings.out), parts)
    texts, reading = _some(parts, settings)
    size = sum(len(text.encode()) for text in texts) / len(texts)
    of_row = _bytes_of_row(parts, settings)
    rows = sum(_rows(part, of_row) for part in parts)
    vectors, encoding, encoded = _tried(settings.model, texts)
    is_sparse = bool(sparse.issparse(vectors))
    plan = with_shards(Plan(Path(), settings, parts, (0, rows), rows, is_sparse, vectors.shape[1]))
    stages = tuple(_stages(plan, vectors, size, reading, encoding, encoded))
    lasting = sum(stage.disk for stage in stages if stage.name not in ("scatter", "join"))
    place = Path(settings.out)
    while not place.exists():
        place = place.parent
    largest = max((stage.disk for stage in stages if stage.name in ("scatter", "join")), default=0)
    return Estimate(len(parts), rows, plan.cells, stages, lasting + largest, shutil.disk_usage(place).free)


def _tried(model: str, texts: Sequence[str]) -> tuple[Any, float, float]:
    """Vectors of some texts, seconds that each takes, and bytes that are held for each meanwhile."""
    trained = loaded(model).trained
    search_vectors(trained, texts[:1])  # what is but once is not of each text
    gc.collect()  # what is freed meanwhile would hide what is taken
    forget_peak()
    held, began = peak_resident(), time.process_time()
    vectors = search_vectors(trained, texts)[0]
    return vectors, (time.process_time() - began) / len(texts), (peak_resident() - held) / len(texts)


def _stages(plan: Plan, vectors: Any, size: float, reading: float, encoding: float, encoded: float) -> Iterator[Stage]:
    rows, width, blocks = plan.rows, plan.width, len(plan.blocks)
    largest = max(part.size for part in plan.parts) / max(1, sum(part.size for part in plan.parts)) * rows
    each = (12 * vectors.nnz / vectors.shape[0] + 8) if plan.sparse else 4 * width
    block = min(rows, BLOCK) * each
    held = LIBRARIES + 150 * largest + TEXT * size * min(largest, ROWS)
    yield Stage("read", len(plan.parts), held, rows * (24 + COMPRESSED * size), rows * reading)
    yield Stage("exact, distinct", plan.buckets, LIBRARIES + 100 * rows / plan.buckets, rows / 8, rows * 1e-6)
    held = WITH_MODEL + max(4 * block, encoded * min(rows, BLOCK))
    yield Stage("encode", blocks, held, rows * each, rows * encoding)
    held, gone = LIBRARIES + plan.settings.memory, copies(plan.shards, sparse=plan.sparse) * rows
    if plan.sparse:
        columns = vectors.tocsc()
        shared = float((np.diff(columns.indptr).astype(np.float64) ** 2).sum()) / 2 / vectors.shape[0] ** 2
        yield Stage("scatter", blocks, LIBRARIES + 4 * block, gone * each, rows * 2e-5)
        yield Stage("links", plan.shards, held, rows * 24, shared * rows**2 * PRODUCT)
    elif plan.cells:
        rate = _rate(width)
        probes = min(PROBES, plan.cells)
        sampled = min(rows, plan.cells * PER_CENTRE)
        yield Stage(
            "centres", 1, LIBRARIES + 3 * sampled * each, sampled * each / 50, rate(sampled * plan.cells * ROUNDS)
        )
        yield Stage("scatter", blocks, LIBRARIES + 3 * block, gone * (each + 60), rate(rows * plan.cells))
        compared = UNEQUAL * rows * probes * rows / plan.cells
        yield Stage("links", plan.shards, held, rows * 24, rate(compared))
        yield Stage("recall", blocks, LIBRARIES + 3 * block, 0, rate(rows * plan.settings.sampled))
    else:
        yield Stage("links", blocks, LIBRARIES + 4 * block, rows * 24, _rate(width)(rows**2 / 2))
    yield Stage("group", plan.shards, held, rows * 20, rows * GROUPED / 2)
    yield Stage(
        "join", len(plan.parts), LIBRARIES + 60 * largest, sum(part.size for part in plan.parts), rows * GROUPED
    )


def _rate(width: int) -> Any:
    """From a number of products of two vectors to seconds."""
    left, right = np.ones((1024, width), np.float32), np.ones((1024, width), np.float32)
    took = []
    for _ in range(5):
        began = time.process_time()
        left @ right.T
        took.append(time.process_time() - began)
    return lambda count: count * min(took) / 1024**2


def _some(parts: Sequence[Part], settings: Settings) -> tuple[Sequence[str], float]:
    """Texts of the first part that has some, and the seconds that it takes to read one."""
    for part in parts:
        began = time.process_time()
        block, column = _first_block(part, settings)
        if texts := block.texts(column):
            hashes_of(texts)
            return texts[:TRIED], (time.process_time() - began) / len(texts)
    raise ValueError("there are no rows to group")


def _bytes_of_row(parts: Sequence[Part], settings: Settings) -> float:
    """Mean of the first rows of the first part that has some and is not Parquet."""
    for part in parts:
        if format_of(part.file) != "parquet" and len(block := _first_block(part, settings)[0]):
            columns = block.table.columns if block.objects is None else [block.objects]
            held = sum(pc.sum(pc.binary_length(each)).as_py() or 0 for each in columns)
            return float(held) / len(block) + len(columns)
    return math.inf


def _first_block(part: Part, settings: Settings) -> tuple[Block, str]:
    """The first rows of a part, and the column with the texts."""
    with open_rows(part.file, delimiter=settings.delimiter) as rows:
        column = choose_text(rows, settings.text)
        return next(iter(rows.blocks([column], skip_bad=settings.skip_bad))), column


def _rows(part: Part, of_row: float) -> int:
    if format_of(part.file) == "parquet":
        return int(pq.read_metadata(part.file).num_rows)
    return round(_unpacked(part) / of_row)


def _unpacked(part: Part) -> float:
    """Bytes of a part, of a compressed one about."""
    compression = compression_of(part.file)
    if compression is None:
        return part.size
    with Path(part.file).open("rb") as packed, pa.CompressedInputStream(packed, compression) as stream:
        count = len(stream.read(UNPACKED))
        return part.size * count / max(1, packed.tell())

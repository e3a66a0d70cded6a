"""The comparison of a file of many rows, in blocks: stages up to the scores of pairs, in a temporary folder."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import sysconf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from twicetold.matching.senses import Sense
from twicetold.neighbours.parallel import threads
from twicetold.staged.folder_dedupe import Stages
from twicetold.staged.launch import launching
from twicetold.staged.pair_stages import filed_comparison
from twicetold.staged.parts import STAGES, parts_of
from twicetold.staged.plan import Plan, Settings
from twicetold.staged.tasks import Progress, Work

if TYPE_CHECKING:
    from twicetold.matching.comparison import Comparison

OF_TASK = 2 * 10**9  # bytes, for `Settings.memory`; a worker has been seen to hold twice as many


@contextmanager
def compared_in_blocks(
    texts: Sequence[str], sense: Sense, *, progress: Progress, block: int = Settings.block
) -> "Iterator[Comparison | None]":
    """Lend the comparison of the distinct ones of some texts; None where few are distinct.

    Args:
        texts: n of them.
        sense: what "the same" means.
        progress: is called with a line on progress.
        block: as of `Settings`.
    """
    memory = sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE")
    workers = max(1, min(threads(), memory // (4 * OF_TASK)))
    with (
        TemporaryDirectory(prefix="twicetold-") as folder,
        launching("processes", workers) as launch,
    ):
        pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), Path(folder, "texts.parquet"))
        settings = Settings(model="", out=folder, text="text", sense=sense, memory=OF_TASK, block=block)
        stages = Stages(Work(launch, progress), Plan(Path(folder, STAGES), settings, parts_of(Path(folder))))
        stages.compared("")
        yield filed_comparison(stages.plan) if stages.plan.divided else None

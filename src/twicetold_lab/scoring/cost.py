"""Cost of a trained model in use: bytes, memory, time. A record of one processor, which it names.

Sizes are exact. Memory and times are observed: a second measurement gives other ones. So no stage but the report reads
`FILE`, and DVC's cache of runs, which machines share, does not have it
(docs/explanation/decisions/0040-cost-is-observed.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from twicetold.evaluation.inputs import described, is_number
from twicetold.evaluation.stored import record

FILE = "cost.json"
"""In a run folder. Not in `layout`, which every training imports: a name there would make all trainings stale."""
MANY = 256
"""Texts at once, where texts are not encoded one by one."""


@dataclass(frozen=True)
class Cost:
    """Cost of one trained model."""

    processor: str
    """Where memory and times were observed."""
    model_bytes: int
    """Of the model folder, with numbers as they were trained (32 bits)."""
    model_bytes_8_bits: int
    """The same if each row of a matrix had 8 bits a number and a scale of its own."""
    peak_memory_bytes: int | None
    """Most that the process held while it loaded and used the model, Python and libraries included; None if unknown."""
    memory_before_bytes: int | None
    """What the process held before it loaded the model."""
    texts_per_second_1: float | None
    """From strings to vectors, one text at a time, on one thread; None if the model scores pairs alone."""
    texts_per_second_256: float | None
    """The same with `MANY` texts at a time."""
    pair_milliseconds_p50: float
    """From two strings to a score, one pair at a time, on one thread: the median."""
    pair_milliseconds_p95: float
    """The same: 95 of 100 take at most as long."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any], file: Path) -> Self:
        """Read what `dataclasses.asdict` gives.

        Args:
            content: of the file.
            file: named in errors.

        Raises:
            ValueError: if it is something else.
        """
        try:
            cost = record(cls, content, f"{file}")
        except ValueError as error:
            raise ValueError(f"{error}{AGAIN}") from error
        for name, value in content.items():
            if name != "processor" and value is not None and not (is_number(value) and value > 0):
                raise ValueError(f"expected a number above 0 as {name} in {file}, got {described(value)}{AGAIN}")
        return cost


AGAIN = ": measure the model again, with pipelines/measure.py"

"""What a model costs in use, as far as it was measured: parameters, bytes, texts a second."""

from collections.abc import Sequence
from dataclasses import dataclass

from twicetold.reporting.glossary import count, magnitude, size
from twicetold.runs.records import Run


@dataclass(frozen=True)
class CostInUse:
    """Cost of one model."""

    parameters: int
    size: int | None
    """Bytes on disk."""
    texts_a_second: float | None

    def __str__(self) -> str:
        """`1,248,000 parameters, 5.0 MB, 23,400 texts a second`."""
        said = [f"{count(self.parameters)} parameters" if self.parameters else "no parameters"]
        said += [] if self.size is None else [size(self.size)]
        said += [] if self.texts_a_second is None else [f"{magnitude(self.texts_a_second)} texts a second"]
        return ", ".join(said)


def cost_in_use(run: Run) -> CostInUse:
    """Of a run, where it was measured."""
    if run.cost is None:
        return CostInUse(run.parameters, None, None)
    return CostInUse(run.parameters, run.cost.model_bytes, run.cost.texts_per_second_256)


def cheapest(runs: Sequence[Run]) -> Run:
    """The fastest if the speed of each was measured, else the one with the fewest parameters; the first of equals."""
    costs = [cost_in_use(run) for run in runs]
    if all(cost.texts_a_second is not None for cost in costs):
        return max(zip(costs, runs, strict=True), key=lambda each: each[0].texts_a_second or 0.0)[1]
    return min(zip(costs, runs, strict=True), key=lambda each: each[0].parameters)[1]

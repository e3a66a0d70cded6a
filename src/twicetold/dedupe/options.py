"""What can be chosen of a dedupe: the same for the library, for indexes and on the command line."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from twicetold.errors import require_number
from twicetold.neighbours.rules import RULES, Rule

Keep: TypeAlias = Literal["first", "longest", "most-central"]
KEEP: tuple[Keep, ...] = get_args(Keep)
EXACT_UP_TO = 50_000  # texts with dense vectors that are compared each with each: twice as many take four times as long
NEIGHBOURS = 20  # nearest of a text whose pairs are scored one by one
MOST_NEIGHBOURS = 320  # that an index holds


@dataclass(frozen=True)
class DedupeOptions:
    """What is a link, and what becomes of links; `twicetold.Model.dedupe` describes each option.

    Raises:
        TypeError: if a number is none, such as the text "0.5".
        ValueError: if a value is out of range, or both a precision and a threshold are given.
    """

    precision: float | None = None
    threshold: float | None = None
    rule: Rule = "average"
    keep: Keep = "first"

    def __post_init__(self) -> None:
        if self.precision is not None and self.threshold is not None:
            raise ValueError("give a precision or a threshold, not both")
        for name, value in (("precision", self.precision), ("threshold", self.threshold)):
            if value is not None:
                require_number(name, value)
            if value is not None and not 0 < value < 1:
                raise ValueError(f"{name} is between 0 and 1, got {value:g}")
        if self.rule not in RULES:
            raise ValueError(f"expected one of the rules {RULES}, got {self.rule!r}")
        if self.keep not in KEEP:
            raise ValueError(f"expected one of {KEEP} to keep, got {self.keep!r}; newest and the like need a column")


DEFAULTS = DedupeOptions()

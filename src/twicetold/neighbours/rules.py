"""The rules by which groups follow from links, by name; `grouping` says what they mean."""

from typing import Literal, TypeAlias, get_args

Rule: TypeAlias = Literal["components", "average", "complete"]
RULES: tuple[Rule, ...] = get_args(Rule)

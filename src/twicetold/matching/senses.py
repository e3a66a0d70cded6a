"""Meanings of "the same": copies with small changes, the same thing, or the same event or topic."""

from typing import Literal, TypeAlias, get_args

Sense: TypeAlias = Literal["copies", "same", "topic"]
SENSES: tuple[Sense, ...] = get_args(Sense)

"""JSON objects, and dataclasses that are stored with a model as JSON, whose types are checked when they are read."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from twicetold.evaluation.inputs import described, is_number

T = TypeVar("T")


def json_object(file: Path, name: str) -> dict[str, Any]:
    """Return the JSON object in a file.

    Args:
        file: that is read.
        name: of the file, for messages.

    Raises:
        ValueError: if it holds something else.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"expected an object in {name}, got {described(content)}")
    return content


def objects(values: Any, name: str) -> list[Mapping[str, Any]]:
    """Return a list of JSON objects.

    Raises:
        ValueError: if it is something else; the message has its name.
    """
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise ValueError(f"expected a list of objects as {name!r}, got {described(values)}")
    return values


def record(kind: type[T], values: Mapping[str, Any], what: str) -> T:
    """Return a dataclass from its fields by name, whose types are checked; a tuple of dataclasses is a list of objects.

    Raises:
        ValueError: if a field without default is missing, or one is of another type, or unknown.
    """
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    needed = {name for name, each in known.items() if each.default is MISSING}
    if not needed <= set(values) <= set(known):
        raise ValueError(f"expected the fields {sorted(known)} in {what}, got {sorted(values)}")
    return kind(**{name: _value(value, known[name].type, name, what) for name, value in values.items()})


def _value(value: Any, wanted: Any, name: str, what: str) -> Any:
    if get_origin(wanted) is tuple:
        return tuple(record(get_args(wanted)[0], each, name) for each in objects(value, name))
    if is_dataclass(wanted) and isinstance(value, dict):
        return record(wanted, value, name)  # type: ignore[arg-type]
    if wanted in (float, float | None) and not (value is None and wanted is not float):
        if not is_number(value):
            raise ValueError(f"expected a finite number as {name!r} in {what}, got {described(value)}")
        return float(value)
    if isinstance(wanted, type) and type(value) is not wanted:
        raise ValueError(f"expected {name!r} in {what} to be of type {wanted.__name__}, got {described(value)}")
    if wanted is int and not 0 <= value < 1 << 62:
        raise ValueError(f"expected a number of 0 or more as {name!r} in {what}, got {described(value)}")
    return value

"""JSON objects, and dataclasses that are stored with a model as JSON, whose types are checked when they are read."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from twicetold.evaluation.inputs import described, is_number


def json_object(file: Path, name: str) -> dict[str, Any]:
    """The JSON object in a file.

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


def objects(values: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A list of JSON objects by its name.

    Raises:
        ValueError: if it is something else.
    """
    if not isinstance(found := values.get(name), list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"expected a list of objects as {name!r}, got {described(found)}")
    return found


def record(kind: type, values: Mapping[str, Any], what: str) -> Any:
    """A dataclass from its fields by name, whose types are checked.

    Raises:
        ValueError: if a field is missing, of another type, or unknown.
    """
    expected = {each.name: each.type for each in fields(kind)}
    if set(values) != set(expected):
        raise ValueError(f"expected the fields {sorted(expected)} in {what}, got {sorted(values)}")
    for name, wanted in expected.items():
        value = values[name]
        if wanted in (float, float | None) and not (value is None and wanted is not float):
            if not is_number(value):
                raise ValueError(f"expected a finite number as {name!r} in {what}, got {described(value)}")
        elif isinstance(wanted, type) and type(value) is not wanted:
            raise ValueError(f"expected {name!r} in {what} to be of type {wanted.__name__}, got {described(value)}")
        elif wanted is int and not 0 <= value < 1 << 62:
            raise ValueError(f"expected a number of 0 or more as {name!r} in {what}, got {described(value)}")
    return kind(**values)

"""Where an installed package keeps its files, without importing it."""

from importlib.util import find_spec
from pathlib import Path


def folder_of_package(name: str) -> Path | None:
    """The folder of a package; None if it is not installed."""
    found = find_spec(name)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None

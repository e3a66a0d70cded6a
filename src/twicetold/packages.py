"""Installed packages: where they keep their files, and what to do where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


class PackageMissing(OSError):
    """A package is not installed; the message names the extra that brings it."""


@contextmanager
def needing(package: str, *, extra: str, what: str) -> Iterator[None]:
    """Import a package, and what needs it, in this context.

    Args:
        package: name of the package.
        extra: that brings it.
        what: needs it, as the subject of a sentence.

    Raises:
        PackageMissing: if it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise PackageMissing(
            f"{what} needs the package {package}, which is not installed: pip install 'twicetold[{extra}]'"
        ) from error


def folder_of_package(name: str) -> Path | None:
    """The folder of a package, without importing it; None if it is not installed."""
    found = find_spec(name)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None

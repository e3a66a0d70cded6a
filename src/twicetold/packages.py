"""Installed packages: where they keep their files, and what to do where one is missing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

EXTRAS = {
    "torch": "torch",
    "jaxtyping": "torch",
    "transformers": "transformers",
    "huggingface_hub": "transformers",
    "distributed": "dask",
    "ray": "ray",
    "pyspark": "spark",
    "submitit": "slurm",
    "ipywidgets": "notebook",
    "fastexcel": "xlsx",
    "xlsxwriter": "xlsx",
}
"""The extra that brings a package; `train` brings all others that may be missing."""


class PackageMissing(OSError):
    """A package is not installed; the message names the extra that brings it."""


@contextmanager
def naming_the_extra(what: str) -> Iterator[None]:
    """End with a message that names package and extra if a package of an extra is not installed.

    Args:
        what: needs packages, as the subject of a sentence.

    Raises:
        PackageMissing: if one is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "twicetold"):
            raise
        raise PackageMissing(
            f"{what} needs the package {package}, which is not installed: {installing(EXTRAS.get(package, 'train'))}"
        ) from error


def installing(extra: str) -> str:
    """Return the command that installs an extra, from a checkout as README says, or from an index."""
    return f"pip install '.[{extra}]' in a checkout of twicetold, or pip install 'twicetold[{extra}]' from an index"


def require_package(name: str, what: str) -> None:
    """Check that a package of an extra is installed, without importing it, before any work that needs it.

    Args:
        name: of the package.
        what: needs it, as the subject of a sentence.

    Raises:
        PackageMissing: if it is not installed.
    """
    with naming_the_extra(what):
        if sys.modules.get(name) is None and find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def folder_of_package(name: str) -> Path | None:
    """Return the folder of a package, without importing it; None if it is not installed."""
    spec = find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None

"""What compares the texts of a file where there is no trained model."""

from pathlib import Path
from typing import Any

from twicetold.commands._columns import naming
from twicetold.commands._dedupe_file import TextFile
from twicetold.use.model import Model, fit


def fitted_to(file: TextFile, *, lexical: bool, vectors: str | None) -> Model:
    """A model that is fitted to a file, or of vectors that were made elsewhere.

    Args:
        file: the texts.
        lexical: as given.
        vectors: as given: the path of a .npy file or of a folder, or a column of the file.

    Raises:
        FileNotFoundError: if there is no such .npy file.
        ValueError: if there are no such vectors, or they cannot be used; of a column, names its rows.
    """
    if vectors is None:
        return fit(file.texts, lexical=lexical)
    found = _vectors(file, vectors)
    if isinstance(found, str):
        return fit(file.texts, vectors=found)
    with naming(file, vectors):
        return fit(file.texts, vectors=found)


def _vectors(file: TextFile, given: str) -> Any:
    """The option `vectors` of `twicetold.fit`: the path of a .npy file or of a folder, or a column of the file.

    Raises:
        ValueError: if there is nothing of this name, or both a folder and a column.
    """
    folder, column = Path(given).is_dir(), given in file.columns
    if given.endswith(".npy"):
        return given
    if folder and column:
        raise ValueError(
            f"--vectors {given}: there are a folder and a column of this name: give the folder as ./{given}"
        )
    if column:
        return file.column(given)
    if not folder:
        raise ValueError(
            f"--vectors {given}: expected a .npy file, a folder of model2vec, or a column of {file.name}, which has "
            f"{', '.join(map(repr, file.columns))}"
        )
    return given

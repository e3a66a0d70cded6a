"""An index in a folder is opened to search it, or to change it while no other process does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twicetold.index.folder import locked, read
from twicetold.index.state import IndexState
from twicetold.index.text_index import TextIndex, save_locked
from twicetold.tracking.locate import folder_of
from twicetold.trained.loaded import LoadedModel
from twicetold.trained.vectors_identity import fingerprint


def open_index(folder: str | Path, model: LoadedModel | str | Path | None = None) -> TextIndex:
    """Read an index that was saved. Dense vectors are memory-mapped.

    Args:
        folder: the index.
        model: that made it, or where it is; None: where it was when the index was built.

    Raises:
        FileNotFoundError: if there is no index, or no model.
        ValueError: if the index is damaged, or the model is another one.
    """
    folder = Path(folder)
    manifest, segments = read(folder)
    if not isinstance(model, LoadedModel):
        try:
            model = LoadedModel.from_folder(folder_of(model or manifest.model).absolute())
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"the index {folder} needs the model that made it. {error}; if the model is "
                "elsewhere now, name its folder with model=... (--model)"
            ) from error
    if (found := fingerprint(model.folder)) != manifest.fingerprint:
        raise ValueError(
            f"the index {folder} was made by the model {manifest.model} (fingerprint {manifest.fingerprint}), and "
            f"{model.folder} is another one (fingerprint {found}): vectors of two models cannot be compared. Name the "
            "model that made the index, or build the index again"
        )
    return TextIndex(model, IndexState(manifest, segments), folder.absolute())


@contextmanager
def changing(folder: str | Path, model: LoadedModel | str | Path | None = None) -> Iterator[TextIndex]:
    """Read an index, and save it at the end of the block; no other process can change it meanwhile.

    Errors: `open_index`, and BlockingIOError if another process changes the index. After an error in the block
    nothing is saved.
    """
    with locked(Path(folder)):
        index = open_index(folder, model)
        yield index
        save_locked(index)

"""A store whose folder was moved or copied: MLflow keeps absolute addresses of artifacts, which lead to the old folder.

A new run would write there without a word, and figures of older runs would be missing. The addresses of a moved store
become those of the folder beside its database; where the artifacts are not beside it, a warning says so.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

ARTIFACTS = "artifacts"  # folder beside the database, with one folder for each experiment
ADDRESSES = {
    "experiments": ("artifact_location",),
    "runs": ("artifact_uri",),
    "logged_models": ("artifact_location",),
    "model_versions": ("source", "storage_location"),
}
"""Table of MLflow -> columns that hold addresses of artifacts."""
DEFAULT = 0  # MLflow's own experiment, for which nothing of ours is logged

_logger = logging.getLogger(__name__)


def mend(database: Path) -> None:
    """Have a moved store name the artifacts beside it; says what was changed, or what could not be.

    Args:
        database: MLflow's SQLite file; nothing is done if it is not there or not of MLflow.
    """
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True, timeout=20.0)) as store:
            for former, names in _former(store, database.parent / ARTIFACTS).items():
                _mend(store, former, database.parent / ARTIFACTS, names)
    except sqlite3.OperationalError as error:  # no such file or table; of a read-only or locked file, MLflow says more
        _logger.debug("%s was not checked for a move: %s", database, error)
    except sqlite3.DatabaseError:  # no database at all, as MLflow will say
        return


def _former(store: sqlite3.Connection, here: Path) -> dict[Path, list[str]]:
    """Folders of artifacts elsewhere that are laid out as ours, with the experiments in each."""
    found: dict[Path, list[str]] = {}
    rows = store.execute("SELECT name, artifact_location FROM experiments WHERE experiment_id != ?", [DEFAULT])
    for name, location in rows:
        parts = urlsplit(location or "")
        folder = Path(unquote(parts.path))
        if parts.scheme == "file" and folder.parts[-2:] == (ARTIFACTS, name) and folder.parent.resolve() != here:
            found.setdefault(folder.parent, []).append(name)
    return found


def _mend(store: sqlite3.Connection, former: Path, here: Path, names: list[str]) -> None:
    """Change the addresses of one former folder if its artifacts are here: moved, or copied together."""
    is_here = here.is_dir() and all((here / name).is_dir() for name in names if (former / name).is_dir())
    if not is_here:
        _warn_once(
            f"the store {here.parent} was moved without its artifacts: those of {', '.join(names)} are read from and "
            f"written to {former}. To have them beside the store, move that folder to {here}"
        )
        return
    with store:
        changed = {table: sum(_changed(store, table, former, here)) for table in ADDRESSES}
    _logger.warning(
        "the store was moved from %s to %s: %d experiments, %d runs and %d models now name their artifacts there",
        former.parent,
        here.parent,
        changed["experiments"],
        changed["runs"],
        changed["logged_models"],
    )


def _changed(store: sqlite3.Connection, table: str, former: Path, here: Path) -> Iterator[int]:
    """Change a table's addresses; yields how many of each column, in either form of MLflow: an address or a path."""
    known = {column for _, column, *_ in store.execute(f"PRAGMA table_info({table})")}
    for column in ADDRESSES[table]:
        for old, new in ((former.as_uri(), here.as_uri()), (f"{former}", f"{here}")) if column in known else ():
            statement = f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?"
            beginning = f"{old}/"
            yield store.execute(statement, [f"{new}/", len(beginning) + 1, len(beginning), beginning]).rowcount


@cache
def _warn_once(message: str) -> None:
    _logger.warning(message)

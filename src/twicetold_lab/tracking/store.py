"""Location and opening of the tracking store.

By default a SQLite file at `mlruns/mlflow.db` under the project's root (MLflow 3.13 and later refuse the older store of
loose files), with artifacts beside it in `mlruns/artifacts/<experiment>`. `MLFLOW_TRACKING_URI` wins when it is set;
if it is a server, the server decides where artifacts are.

MLflow is imported when a store is opened for the first time.
"""

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from twicetold.errors import shown
from twicetold.files import open_lock, write_file
from twicetold.printable import without_passwords

T = TypeVar("T")

ORIGINS = ("dvc", "sweep", "run")
SQLITE = "sqlite:///"
OVERTAKEN = "BAD_REQUEST"  # MLflow's code for a row that its database refuses
LOCKED = "database is locked"
ATTEMPTS = 10

_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # of a server's pages; the scripts print their own
    # A server that is down costs at most 30 seconds, not the minutes of MLflow's defaults (7 retries, 120 s).
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ARTIFACT_UPLOAD_DOWNLOAD_TIMEOUT": "60",
    # Otherwise a lock file in the working directory replaces the requirements that are given with a model.
    "MLFLOW_UV_AUTO_DETECT": "false",
}


_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """The store of runs, and whether anything is tracked.

    Args:
        enabled: False makes everything a no-op, and MLflow is never imported.
        uri: address of the store; None for the SQLite file under `root`. A relative SQLite path is relative to `root`.
        root: the project's root.
        origin: who started the run: "dvc" (the pipeline), "sweep" (a multirun) or "run" (a person).
        port: at which the pages of a local store are served.

    Raises:
        ValueError: if `origin` is none of these.
    """

    enabled: bool
    uri: str | None
    root: Path
    origin: str
    port: int = 5000

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise ValueError(f"origin must be one of {ORIGINS}, got {self.origin!r}")


@dataclass(frozen=True)
class Store:
    """An open store and the experiment in it that runs belong to."""

    client: Any
    """An `mlflow.MlflowClient`."""
    experiment_id: str


def address(settings: Settings) -> str:
    """The address of the store: `MLFLOW_TRACKING_URI` as it stands, else the settings', else SQLite under the root."""
    from_environment = os.environ.get("MLFLOW_TRACKING_URI")
    if from_environment:
        return from_environment
    if settings.uri is None:
        return f"{SQLITE}{settings.root.resolve() / 'mlruns' / 'mlflow.db'}"
    if settings.uri.startswith(SQLITE):
        return f"{SQLITE}{settings.root.resolve() / settings.uri.removeprefix(SQLITE)}"
    return settings.uri


def open_store(settings: Settings, experiment: str) -> Store:
    """Open the store and find or create the experiment.

    Raises:
        ValueError: if the experiment was deleted.
        Exception: whatever MLflow raises when the store is broken or unreachable; callers catch it with
            `warn_untracked`.
    """
    uri = address(settings)
    prepare()
    location = None
    if uri.startswith(SQLITE):
        file = Path(uri.removeprefix(SQLITE)).resolve()
        _make_database(file)
        location = (file.parent / "artifacts" / experiment).as_uri()
    client = connect(uri)
    stored = insist(lambda: client.get_experiment_by_name(experiment))
    if stored is None:
        return Store(client, _create_experiment(client, experiment, location))
    if stored.lifecycle_stage == "deleted":
        raise ValueError(
            f"the experiment {experiment} was deleted in MLflow; restore it with MLFLOW_TRACKING_URI="
            f"{without_passwords(uri)} mlflow experiments restore --experiment-id {stored.experiment_id}"
        )
    if location and stored.artifact_location != location:
        _warn_once(
            f"the store at {uri} was moved: files of the runs of {experiment} are still in {stored.artifact_location}, "
            "and new ones go there, as MLflow stores whole paths. To begin anew, remove the file of the store"
        )
    return Store(client, stored.experiment_id)


def connect(uri: str) -> Any:
    """Return an `mlflow.MlflowClient` of the store at an address."""
    prepare()
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def existing(settings: Settings) -> Any:
    """Return a client of the store, which is not made if there is none.

    Raises:
        FileNotFoundError: if there is no store.
    """
    uri = address(settings)
    if uri.startswith(SQLITE) and not Path(uri.removeprefix(SQLITE)).is_file():
        raise FileNotFoundError(
            f"no MLflow store at {uri.removeprefix(SQLITE)}: run this in the folder of the project, or set "
            "MLFLOW_TRACKING_URI"
        )
    return connect(uri)


def insist(write: Callable[[], T]) -> T:
    """Write, and again if another process was in the way.

    MLflow looks for a dataset or tag and inserts it if there is none. Of two processes that do so at the same time, the
    database refuses one; its next attempt finds the row. A SQLite file is locked while another process writes, and
    MLflow waits for 20 seconds only, which can be short on a busy machine.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return write()
        except Exception as error:
            if getattr(error, "error_code", None) != OVERTAKEN and LOCKED not in str(error):
                raise
    return write()


def prepare() -> None:
    """Set what MLflow reads when it is imported, and have it print less."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    for name in ("alembic", "mlflow.system_metrics"):  # migrations and monitoring are chatty
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # a traceback of each error that it raises


def _make_database(file: Path) -> None:
    """Make MLflow's SQLite file if there is none; several processes may call this at the same time.

    MLflow runs its migrations on any file that lacks a table, so two processes that open a new file at the same time
    both alter it and break it. Here the migrations run on a temporary file under a lock, and the finished file is
    renamed into place.
    """
    if file.exists():
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    file.parent.mkdir(parents=True, exist_ok=True)
    with open_lock(file.with_name(f".{file.name}.lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed, also if the process is killed
        if file.exists():
            return
        with write_file(file) as temporary:
            SqlAlchemyStore(f"{SQLITE}{temporary}", (file.parent / "artifacts").as_uri()).engine.dispose()


@contextmanager
def tracking(what: str) -> Iterator[None]:
    """Ask the store, and go on with a warning where it fails; see `warn_untracked`."""
    try:
        yield
    except Exception as error:
        warn_untracked(what, error)


def warn_untracked(what: str, error: Exception) -> None:
    """Warn that the store failed and that the work goes on without it.

    A training of hours must not be lost because its tracking server is down. Callers catch every `Exception`, because
    MLflow passes on those of its database driver, HTTP client and artifact storage.
    """
    reason = shown(error).strip().split("\n")[0] or type(error).__name__
    _logger.warning(
        "MLflow could not %s: %s -- the work goes on, but nothing more of this run is tracked. "
        "Check MLFLOW_TRACKING_URI and mlruns/, or switch tracking off with tracking.enabled=false.",
        what,
        reason,
    )


@cache
def _warn_once(message: str) -> None:
    _logger.warning(message)


def _create_experiment(client: Any, experiment: str, location: str | None) -> str:
    try:
        return str(insist(lambda: client.create_experiment(experiment, artifact_location=location)))
    except Exception:
        stored = insist(lambda: client.get_experiment_by_name(experiment))  # another process was faster
        if stored is None:
            raise
        return str(stored.experiment_id)

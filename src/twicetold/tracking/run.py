"""One run in the tracking store: parameters, metrics, datasets, files and the model.

A `Run` only writes, and no stage reads what it wrote. When a write fails, a warning says so and the run
goes on untracked, every later call a no-op: a server that is down is waited for once.
"""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from twicetold.tracking.store import Store, warn_untracked

T = TypeVar("T")

MAX_PARAMETER = 6000  # characters; these five are the limits of MLflow's database schema
MAX_TAG = 8000
MAX_DIGEST = 36
PARAMETERS_PER_BATCH = 100
METRICS_PER_BATCH = 1000


class Run:
    """A run being written, or a no-op of the same shape where nothing is tracked.

    Args:
        store: the open store, or None where nothing is tracked.
        run_id: the run's id in the store, or None where nothing is tracked.
        name: the run's name.
        model_id: the logged model that further metrics belong to, if the run has one.
        earlier: names of the metrics that a reopened run has already.
    """

    def __init__(
        self,
        store: Store | None,
        run_id: str | None,
        *,
        name: str = "",
        model_id: str | None = None,
        earlier: Collection[str] = (),
    ) -> None:
        self.id = run_id
        self.name = name
        self._store = store
        self._failed = False
        self._model_id = model_id
        self._earlier = earlier
        self._time = 0
        self._latest: dict[str, Any] = {}

    @property
    def tracked(self) -> bool:
        """Whether what is logged now reaches the store."""
        return self._store is not None and not self._failed

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Log parameters, nested mappings flattened to `a.b.c`; longer values than MLflow takes end in an ellipsis."""
        flat = flatten(params)

        def write(client: Any) -> None:
            from mlflow.entities import Param

            rows = [Param(name, value) for name, value in flat.items()]
            for some in _chunks(rows, PARAMETERS_PER_BATCH):
                client.log_batch(self.id, params=some)

        self._write("log parameters", write)

    def log_tags(self, tags: Mapping[str, Any]) -> None:
        """Set tags, replacing those of the same name."""

        def write(client: Any) -> None:
            from mlflow.entities import RunTag

            client.log_batch(self.id, tags=[RunTag(name, shorten(str(v), MAX_TAG)) for name, v in tags.items()])

        self._write("log tags", write)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log metrics at one step.

        Args:
            metrics: name -> value; NaN and infinity are allowed.
            step: say the epoch. None means the metric's latest step: the value is its last word and what a table of
                runs shows, where a plain 0 would hide behind the steps of a curve.
        """
        self._log_points([(name, float(value), step) for name, value in metrics.items()])

    def log_curve(self, name: str, values: Sequence[float], *, steps: Sequence[int] | None = None) -> None:
        """Log one metric over many steps at once.

        Args:
            name: the metric's name.
            values: one number for each step.
            steps: as many whole numbers; 0, 1, 2 … by default.

        Raises:
            ValueError: if there are not as many steps as values.
        """
        steps = range(len(values)) if steps is None else steps
        if len(steps) != len(values):
            raise ValueError(f"curve {name!r} has {len(values)} values but {len(steps)} steps: give one step per value")
        self._log_points([(name, float(value), int(step)) for value, step in zip(values, steps, strict=True)])

    def log_dataset(
        self,
        name: str,
        *,
        context: str,
        digest: str,
        source: str,
        counts: Mapping[str, Any],
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Log a dataset as an input of the run.

        Args:
            name: the dataset's name.
            context: what it was used for ("train", "val", "test").
            digest: its digest; MLflow shows the first 36 characters, the profile holds all of it.
            source: the address or path it came from.
            counts: what is known about its size, ready for JSON (rows, texts, pairs …).
            columns: name -> MLflow type ("string", "long", "double" …).
        """
        remote = source.startswith(("http://", "https://"))
        schema = [{"name": n, "type": kind, "required": True} for n, kind in (columns or {}).items()]

        def write(client: Any) -> None:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            dataset = Dataset(
                name=name,
                digest=digest[:MAX_DIGEST],
                source_type="http" if remote else "local",
                source=json.dumps({"url" if remote else "uri": source}),
                schema=json.dumps({"mlflow_colspec": schema}) if schema else None,
                profile=json.dumps({**counts, "sha256": digest}),
            )
            client.log_inputs(self.id, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

        self._write(f"log the dataset {name}", write)

    def log_file(self, path: Path, folder: str | None = None) -> None:
        """Log one file as an artifact, in `folder` of the run's artifacts.

        Raises:
            FileNotFoundError: if there is no such file.
        """
        if not path.is_file():
            raise FileNotFoundError(f"expected a file to log at {path}, but there is none")
        self._write(f"log {path.name}", lambda client: client.log_artifact(self.id, str(path), folder))

    def log_text(self, text: str, file: str) -> None:
        """Log a text as the artifact `file` (a path relative to the run's artifacts)."""
        self._write(f"log {file}", lambda client: client.log_text(self.id, text, file))

    def log_model(self, model_folder: Path, *, input_example: Mapping[str, Sequence[str]]) -> str | None:
        """Log the model folder as a model that `mlflow models predict` and `mlflow.pyfunc.load_model` can load.

        The run's latest metrics so far, and all that follow, are shown at the model too.

        Args:
            model_folder: what `twicetold.model_folder.load_model` reads.
            input_example: column -> values: either `text`, or `left` and `right`.

        Returns:
            The model's address `models:/…`, or None where nothing is tracked.

        Raises:
            FileNotFoundError: if there is no such folder.
        """
        if not model_folder.is_dir():
            raise FileNotFoundError(f"expected a model folder at {model_folder}, but there is none: train it first")

        def write(client: Any) -> str:
            from mlflow.entities import Metric

            from twicetold.tracking.logged_model import log

            assert self._store is not None
            assert self.id is not None
            model_id = log(self._store, self.id, model_folder, name=self.name, input_example=input_example)
            self._model_id = model_id
            rows = [Metric(m.key, m.value, m.timestamp, m.step, model_id=model_id) for m in self._latest.values()]
            _log_in_batches(client, self.id, rows)
            return f"models:/{model_id}"

        return self._write("log the model", write)

    @contextmanager
    def ending(self) -> Iterator["Run"]:
        """Close the run when the block ends: FINISHED, FAILED after an error, KILLED after Ctrl-C."""
        status = "FINISHED"
        try:
            yield self
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        except BaseException:
            status = "FAILED"
            raise
        finally:
            self._close(status)

    def _close(self, status: str) -> None:
        if self.tracked:
            self._write("close the run", lambda client: client.set_terminated(self.id, status))
        elif self._store is not None:
            with suppress(Exception):  # it failed on the way, and that was said; it may be back
                self._store.client.set_terminated(self.id, status)

    def _log_points(self, points: Sequence[tuple[str, float, int | None]]) -> None:
        def write(client: Any) -> None:
            from mlflow.entities import Metric

            # Of two values at one step MLflow shows the one with the later time, so no two calls may share one.
            self._time = max(self._time + 1, time.time_ns() // 1_000_000)
            rows = []
            for name, value, step in points:
                at = self._latest_step(client, name) if step is None else step
                row = Metric(name, value, self._time, at, model_id=self._model_id)
                rows.append(row)
                if name not in self._latest or at >= self._latest[name].step:
                    self._latest[name] = row
            _log_in_batches(client, self.id, rows)

        if points:
            self._write("log metrics", write)

    def _latest_step(self, client: Any, name: str) -> int:
        if name in self._latest:
            return int(self._latest[name].step)
        if name in self._earlier:
            return max(int(metric.step) for metric in client.get_metric_history(self.id, name))
        return 0

    def _write(self, what: str, action: Callable[[Any], T]) -> T | None:
        if self._store is None or self._failed:
            return None
        try:
            return action(self._store.client)
        except Exception as error:  # every kind, see `warn_untracked`
            warn_untracked(what, error)
            self._failed = True
            return None


def flatten(params: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested parameters as `{"a.b.c": text}`: strings as they are, everything else as JSON."""
    flat: dict[str, str] = {}
    for key, value in params.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            flat[name] = shorten(text, MAX_PARAMETER)
    return flat


def shorten(text: str, limit: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _log_in_batches(client: Any, run_id: str | None, rows: Sequence[Any]) -> None:
    for some in _chunks(rows, METRICS_PER_BATCH):
        client.log_batch(run_id, metrics=some)


def _chunks(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))

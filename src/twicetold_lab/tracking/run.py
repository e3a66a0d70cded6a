"""One run in the tracking store: parameters, metrics, datasets, files and the model.

A `TrackedRun` only writes; no stage reads from the store. If a write fails, there is one warning, and every later call
does nothing, so that a server that is down is waited for only once.
"""

import json
import math
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from twicetold.errors import Pruned
from twicetold.printable import without_passwords
from twicetold_lab.tracking.notes import dotted
from twicetold_lab.tracking.pages import describe
from twicetold_lab.tracking.store import Store, insist, warn_untracked

T = TypeVar("T")

MAX_PARAMETER = 6000  # characters; these four are the limits of MLflow's database schema
MAX_TAG = 8000
MAX_DIGEST = 36
PARAMETERS_PER_BATCH = 100
CONTEXTS = {"train": "training", "val": "validation", "test": "testing"}  # MLflow's words for the use of a dataset
SPLITS = {"train": "train", "val": "val", "best": "val", "test": "test"}
"""First part of a metric's name -> the split that it was measured on."""
ERROR = "error"  # tag: why a run failed
NOT_FINITE = "not_finite"  # tag: metrics that were NaN or infinite and are not in the store


class TrackedRun:
    """A run that is written to; does nothing if tracking is off.

    Args:
        store: the open store, or None where nothing is tracked.
        run_id: the run's id in the store, or None where nothing is tracked.
        name: the run's name.
        model_id: the logged model that further metrics belong to, if the run has one.
        earlier: names of the metrics that a reopened run already has.
        params: the parameters that it has, flattened.
    """

    def __init__(
        self,
        store: Store | None,
        run_id: str | None,
        *,
        name: str = "",
        model_id: str | None = None,
        earlier: Collection[str] = (),
        params: Mapping[str, str] | None = None,
    ) -> None:
        self.id = run_id
        self.name = name
        self._store = store
        self._failed = False
        self._model_id = model_id
        self._earlier = earlier
        self._time = 0
        self._latest: dict[str, Any] = {}
        self._params = dict(params or {})
        self._datasets: dict[str, tuple[str, str]] = {}  # split -> name and digest
        self._not_finite: set[str] = set()

    @property
    def has_model(self) -> bool:
        """True if a model is logged with the run."""
        return self._model_id is not None

    @property
    def tracked(self) -> bool:
        """True if what is logged now reaches the store."""
        return self._store is not None and not self._failed

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Log parameters, nested mappings flattened to `a.b.c`; values that are too long for MLflow are shortened."""
        flat = flatten(params)
        self._params |= flat

        def write(client: Any) -> None:
            from mlflow.entities import Param

            rows = [Param(name, value) for name, value in flat.items()]
            for start in range(0, len(rows), PARAMETERS_PER_BATCH):
                client.log_batch(self.id, params=rows[start : start + PARAMETERS_PER_BATCH])

        self._write("log parameters", write)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log metrics at one step, as those of the logged model, if there is one, and of the split they are about.

        Args:
            metrics: name -> value. NaN and infinity are not logged, as no column can be sorted by them; the tag
                `not_finite` names their metrics.
            step: for example the epoch. None means the metric's latest step, so that the value replaces those of
                training in a table of runs.
        """

        def write(client: Any) -> None:
            from mlflow.entities import Metric

            # Of two values at one step MLflow shows the later one, so no two calls share a time.
            self._time = max(self._time + 1, time.time_ns() // 1_000_000)
            rows = []
            for name, value in metrics.items():
                if not math.isfinite(value):
                    continue
                at = self._latest_step(client, name) if step is None else step
                row = Metric(name, float(value), self._time, at, model_id=self._model_id, **self._dataset_of(name))
                rows.append(row)
                if name not in self._latest or at >= self._latest[name].step:
                    self._latest[name] = row
            client.log_batch(self.id, metrics=rows)
            odd = {name for name, value in metrics.items() if not math.isfinite(value)} - self._not_finite
            if odd:
                self._not_finite |= odd
                client.set_tag(self.id, NOT_FINITE, shorten(", ".join(sorted(self._not_finite)), MAX_TAG))

        self._write("log metrics", write)

    def log_dataset(
        self,
        name: str,
        *,
        split: str,
        digest: str,
        source: str,
        counts: Mapping[str, Any],
    ) -> None:
        """Log one split of a dataset as an input of the run; metrics of the split that are logged later refer to it.

        Args:
            name: the dataset's name.
            split: "train", "val" or "test"; MLflow shows it as a dataset of its own, `<name> <split>`.
            digest: its digest; MLflow shows the first 36 characters, the profile holds all of it.
            source: the address or path it came from.
            counts: its sizes, ready for JSON (rows, texts, pairs, ...).
        """
        source = without_passwords(source)
        remote = source.startswith(("http://", "https://"))

        def write(client: Any) -> None:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            dataset = Dataset(
                name=f"{name} {split}",
                digest=digest[:MAX_DIGEST],
                source_type="http" if remote else "local",
                source=json.dumps({"url" if remote else "uri": source}),
                profile=json.dumps({**counts, "sha256": digest}),
            )
            client.log_inputs(self.id, [DatasetInput(dataset, [InputTag("mlflow.data.context", CONTEXTS[split])])])
            self._datasets[split] = (dataset.name, dataset.digest)

        self._write(f"log the dataset {name}", write)

    def describe_data(self, data: str, *, kind: str, counts: Mapping[str, Any], primary: str) -> None:
        """Describe the run's experiment, that is its dataset, and give it views with columns for the metric.

        Args:
            data: the dataset's name.
            kind: the corpus's kind.
            counts: the corpus card.
            primary: the primary metric's name.
        """

        def write(_: Any) -> None:
            assert self._store is not None
            describe(self._store, data=data, kind=kind, counts=counts, primary=primary)

        self._write(f"describe the experiment {data}", write)

    def log_file(self, path: Path, folder: str | None = None) -> None:
        """Log one file as an artifact, in `folder` of the run's artifacts.

        Raises:
            FileNotFoundError: if there is no such file.
        """
        if not path.is_file():
            raise FileNotFoundError(f"expected a file to log at {path}, but there is none")
        self._write(f"log {path.name}", lambda client: client.log_artifact(self.id, str(path), folder))

    def log_text(self, text: str, file: str) -> None:
        """Log a text without passwords as the artifact `file` (a path relative to the run's artifacts)."""
        self._write(f"log {file}", lambda client: client.log_text(self.id, without_passwords(text), file))

    def log_model(self, model_folder: Path, **_: Any) -> str | None:
        """Log the model folder, as `twicetold.load` reads it.

        The run's latest metrics, and all later ones, are logged for the model as well.

        Args:
            model_folder: of the trained model.

        Returns:
            The model's address `models:/…`, or None where nothing is tracked.

        Raises:
            FileNotFoundError: if there is no such folder.
        """
        if not model_folder.is_dir():
            raise FileNotFoundError(f"expected a model folder at {model_folder}, but there is none: train it first")

        def write(client: Any) -> str:
            from mlflow.entities import Metric

            self._model_id = model_id = self._upload(client, model_folder)
            rows = [
                Metric(m.key, m.value, m.timestamp, m.step, model_id=model_id, **self._dataset_of(m.key))
                for m in self._latest.values()
            ]
            client.log_batch(self.id, metrics=rows)
            return f"models:/{model_id}"

        return self._write("log the model", write)

    def _upload(self, client: Any, model_folder: Path) -> str:
        """Upload a model folder as an output of the run, as it is and without code; returns the id of the model.

        The steps go through the client, because `mlflow.log_model` works on a global current run in a global store.
        """
        from mlflow.entities import LoggedModelOutput

        assert self._store is not None
        assert self.id is not None
        name, params = re.sub(r"[^\w-]", "-", self.name) or "model", dict(self._params)
        model = client.create_logged_model(self._store.experiment_id, name=name, source_run_id=self.id, params=params)
        status = "FAILED"
        try:
            client.log_model_artifacts(model.model_id, str(model_folder))
            client.log_outputs(self.id, models=[LoggedModelOutput(model.model_id, step=0)])
            status = "READY"
        finally:
            client.finalize_logged_model(model.model_id, status)
        return str(model.model_id)

    @contextmanager
    def ending(self) -> Iterator["TrackedRun"]:
        """Close the run when the block ends: FINISHED, FAILED after an error, KILLED after Ctrl-C or pruning.

        The tag `error` of a run that did not finish says why.
        """
        try:
            yield self
            self._close("FINISHED")  # in the block, as Ctrl-C may come here too
        except (KeyboardInterrupt, Pruned) as stop:
            self._say_why(stop)
            self._close("KILLED")
            raise
        except BaseException as error:
            self._say_why(error)
            self._close("FAILED")
            raise

    def _say_why(self, error: BaseException) -> None:
        why = shorten(f"{type(error).__name__}: {without_passwords(error)}", MAX_TAG)
        self._write("say why the run ended", lambda client: client.set_tag(self.id, ERROR, why))

    def _dataset_of(self, metric: str) -> dict[str, str]:
        """Return the link of a metric to the split it was measured on, as arguments of MLflow's `Metric`."""
        found = self._datasets.get(SPLITS.get(metric.partition("/")[0], ""))
        return {} if found is None else {"dataset_name": found[0], "dataset_digest": found[1]}

    def _close(self, status: str) -> None:
        if self.tracked:
            self._write("close the run", lambda client: client.set_terminated(self.id, status))
        elif self._store is not None:
            with suppress(Exception):  # the store failed before, with a warning; it may work again
                self._store.client.set_terminated(self.id, status)

    def _latest_step(self, client: Any, name: str) -> int:
        if name in self._latest:
            return int(self._latest[name].step)
        if name in self._earlier:
            return max(int(metric.step) for metric in client.get_metric_history(self.id, name))
        return 0

    def _write(self, what: str, action: Callable[[Any], T]) -> T | None:
        if self._store is None or self._failed:
            return None
        client = self._store.client
        try:
            return insist(lambda: action(client))
        except Exception as error:  # every kind, see `warn_untracked`
            warn_untracked(what, error)
            self._failed = True
            return None


def flatten(params: Mapping[str, Any]) -> dict[str, str]:
    """Return nested parameters as `{"a.b.c": text}`: strings without passwords, everything else as JSON."""
    texts = {k: v if isinstance(v, str) else json.dumps(v, default=str) for k, v in dotted(params).items()}
    return {key: shorten(without_passwords(text), MAX_PARAMETER) for key, text in texts.items()}


def shorten(text: str, limit: int) -> str:
    """Return the text, cut to `limit` characters with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"

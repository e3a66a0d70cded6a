"""Trained models in MLflow's registry: `twicetold-<data>`, with versions, aliases, numbers and a model card.

A model is found in the store by its content, not by a run id: a version, or a logged model, is the same model if the
digest of the files of its folder is, which is a tag of both. What is not in the store yet is logged from its folder.

Models come back as folders. Of what MLflow keeps with a logged model only the model folder is used, which
`twicetold.trained.model_folder` reads without running code of it.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.files import write_folder
from twicetold.fingerprint import folder_digest
from twicetold_lab.tracking import logged_model
from twicetold_lab.tracking.run import shorten
from twicetold_lab.tracking.store import Settings, Store, address, existing, open_store, readable

PREFIX = "twicetold-"
MAX_DESCRIPTION = 5000  # characters; these two are the limits of MLflow's database schema
MAX_VERSION_TAG = 5000
MODEL_ID = "model_id"  # tag of a version: its logged model, which SQLite stores do not keep
INPUT_EXAMPLE = {"left": ["How do I learn Python?"], "right": ["What is the best way to learn Python?"]}
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Version:
    """One version of a registered model."""

    name: str
    version: int
    aliases: tuple[str, ...]
    run_name: str
    metrics: Mapping[str, float]
    """`val/<metric>` and `test/<metric>`."""
    tags: Mapping[str, str]

    @property
    def primary(self) -> str:
        """The metric that its training selected by; empty if unknown."""
        return self.tags.get("primary", "")

    @property
    def address(self) -> str:
        """The address that `twicetold.load` takes."""
        return f"{layout.REGISTRY}{self.name}/{self.version}"


def register(
    model_folder: Path,
    *,
    data: str,
    run_name: str,
    metrics: Mapping[str, float],
    tags: Mapping[str, str],
    description: str,
    alias: str | None,
    root: Path,
) -> Version:
    """Make a model the newest version of `twicetold-<data>`; a model that is a version already stays that version.

    Args:
        model_folder: the model folder.
        data: the dataset's name, which is also the name of the experiment that the run is in.
        run_name: `<model>-<seed>`, the name of its run.
        metrics: `val/<metric>` and `test/<metric>` -> value; kept as tags of the version.
        tags: further tags of the version.
        description: the model card; all of it is kept with the run as `README.md`.
        alias: given to this version, taken from any other; None for none.
        root: the project's root, where the SQLite store is unless `MLFLOW_TRACKING_URI` names another.

    Raises:
        ValueError: if MLflow cannot have such a name or alias, or the store refuses.
    """
    for what, value in (("name of a dataset", data), ("alias", alias)):
        if value is not None and not _NAME.fullmatch(value):
            raise ValueError(f"expected letters, digits, `_`, `-` and `.` as {what}, got {value!r}")
    name, digest = f"{PREFIX}{data}", folder_digest(model_folder)
    with readable(f"register {model_folder} as {name}"):
        store = open_store(_settings(root), data)
        client = store.client
        _make_model(client, name)
        version = next((v for v in _versions(client, name) if v.tags.get(logged_model.DIGEST) == digest), None)
        if version is None:
            logged = _logged(store, digest)
            run_id, model_id = logged or _log(store, model_folder, run_name, metrics, {"data": data, **tags})
            client.log_text(run_id, description, "README.md")
            every = {**tags, logged_model.DIGEST: digest, MODEL_ID: model_id, "run_name": run_name}
            every |= {key: mark for key, mark in client.get_run(run_id).data.tags.items() if key == "fingerprint"}
            every |= {metric: repr(value) for metric, value in metrics.items()}
            version = client.create_model_version(
                name,
                source=client.get_logged_model(model_id).artifact_location,  # `models:/m-…` asks the default store
                run_id=run_id,
                model_id=model_id,
                tags={key: shorten(value, MAX_VERSION_TAG) for key, value in every.items()},
                description=shorten(description, MAX_DESCRIPTION),
            )
        if alias is not None:
            client.set_registered_model_alias(name, alias, version.version)
        return _version(version, client.get_registered_model(name).aliases)


def registered(*, root: Path) -> list[Version]:
    """All versions of the models that `register` made, by name, the newest first.

    Raises:
        FileNotFoundError: if there is no store.
        ValueError: if the store cannot be read.
    """
    client = existing(_settings(root))
    with readable("list the registered models"):
        models = _all_pages(client.search_registered_models, f"name LIKE '{PREFIX}%'")
        pairs = [(model, entry) for model in models for entry in _versions(client, model.name)]
        versions = [_version(entry, model.aliases) for model, entry in pairs]
    return sorted(versions, key=lambda version: (version.name, -version.version))


def fetch(model: str, *, root: Path) -> Path:
    """Download the model folder of `models:/NAME/VERSION`, `models:/NAME@ALIAS` or `models:/m-ID`, once.

    Logged models never change, so a model that was downloaded before is taken from the cache,
    `$XDG_CACHE_HOME/twicetold` (`~/.cache/twicetold`).

    Args:
        model: the address.
        root: see `register`.

    Returns:
        The model folder in the cache. Its files are as untrusted as any.

    Raises:
        FileNotFoundError: if there is no store.
        ValueError: if it has no such model, or that is no model of this package.
    """
    client = existing(_settings(root))
    with readable(f"find {model}"):
        model_id = _model_id(client, model)
        where = client.get_logged_model(model_id).artifact_location
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "twicetold", model_id)
    if not (kept / layout.RECIPE).is_file():
        with tempfile.TemporaryDirectory() as scratch, readable(f"download {model}"):
            inner = _download(f"{where}/artifacts", Path(scratch), address(_settings(root)))
            with write_folder(kept) as target:
                shutil.copytree(_only_model(inner, model), target, dirs_exist_ok=True)
    return kept


def _settings(root: Path) -> Settings:
    return Settings(enabled=True, uri=None, root=root, origin="run")


def _make_model(client: Any, name: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def _versions(client: Any, name: str) -> list[Any]:
    return _all_pages(client.search_model_versions, f"name = '{name}'")


def _all_pages(search: Callable[..., Any], query: str) -> list[Any]:
    entries, token = [], None
    while True:
        page = search(query, page_token=token)
        entries += page
        if not (token := page.token):
            return entries


def _version(entry: Any, aliases: Mapping[str, str]) -> Version:
    metrics = {name: float(value) for name, value in entry.tags.items() if name.startswith(("val/", "test/"))}
    names = tuple(sorted(alias for alias, version in aliases.items() if int(version) == int(entry.version)))
    tags = {name: value for name, value in entry.tags.items() if name not in metrics}
    return Version(entry.name, int(entry.version), names, entry.tags.get("run_name", ""), metrics, tags)


def _logged(store: Store, digest: str) -> tuple[str, str] | None:
    """Run and logged model with the files of this digest; None if the store has none."""
    models = store.client.search_logged_models([store.experiment_id], f"tags.`{logged_model.DIGEST}` = '{digest}'")
    return next(((each.source_run_id, each.model_id) for each in models if str(each.status) == "READY"), None)


def _log(
    store: Store, model_folder: Path, run_name: str, metrics: Mapping[str, float], tags: Mapping[str, str]
) -> tuple[str, str]:
    """Make a run of a model that the store does not have; its run and its logged model."""
    client = store.client
    every = {"origin": "run", **{key: shorten(value, MAX_VERSION_TAG) for key, value in tags.items()}}
    run_id = client.create_run(store.experiment_id, tags=every, run_name=run_name).info.run_id
    status = "FAILED"
    try:
        model_id = logged_model.log(store, run_id, model_folder, name=run_name, input_example=INPUT_EXAMPLE)
        for metric, value in metrics.items():
            client.log_metric(run_id, metric, value, model_id=model_id)
        status = "FINISHED"
    finally:
        client.set_terminated(run_id, status)
    return run_id, model_id


def _model_id(client: Any, model: str) -> str:
    """The logged model of an address."""
    match = re.fullmatch(r"models:/(?:(m-[0-9a-f]+)|([^/@]+)(?:@([^/@]+)|/([0-9]+)))", model)
    if not match:
        raise ValueError(
            f"expected models:/NAME@ALIAS, models:/NAME/VERSION or models:/m-ID, got {model!r}; `twicetold models` "
            "lists what there is"
        )
    model_id, name, alias, number = match.groups()
    if model_id is None:
        version = client.get_model_version_by_alias(name, alias) if alias else client.get_model_version(name, number)
        model_id = version.model_id or version.tags.get(MODEL_ID)
    if not re.fullmatch("m-[0-9a-f]+", model_id or ""):  # it names a folder of the cache
        raise ValueError(f"{model} is no logged model: register the run with `twicetold register`")
    return str(model_id)


def _only_model(folder: Path, model: str) -> Path:
    """The one model folder among the artifacts of a logged model."""
    folders = [place for place in folder.iterdir() if (place / layout.RECIPE).is_file()]
    if len(folders) != 1:
        raise ValueError(f"{model} is no model of this package: expected one folder with {layout.RECIPE} in it")
    return folders[0]


def _download(uri: str, folder: Path, tracking_uri: str) -> Path:
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(artifact_uri=uri, dst_path=str(folder), tracking_uri=tracking_uri))

"""Runs of a tracking store as run folders, for a comparison by hand. No stage reads the store."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.tracking.store import Settings, existing, readable

CONFIG = "config.yaml"  # artifact of a run: all settings
OF_MODEL = (layout.RECIPE, layout.DECISION, layout.TRAINING)  # what describes a model, without its weights


def fetch_runs(settings: Settings, experiment: str, where: str, *, limit: int, target: Path) -> list[Path]:
    """Download what describes the newest runs that match a query.

    Runs without a logged model, such as parents of sweeps and failed runs, are left out.

    Args:
        settings: where the store is.
        experiment: the dataset's name.
        where: MLflow's query, say `tags.model = 'dae'`; empty for all runs.
        limit: this many runs at most.
        target: a folder, which gets one folder for each run, named after it.

    Returns:
        The folders, with the artifact `config.yaml`, the files of the evaluation if there was one, and those that
        describe the model, in the layout of a run folder.

    Raises:
        FileNotFoundError: if there is no store.
        ValueError: if it has no such experiment, the query cannot be read, or it matches no run.
    """
    client = existing(settings)
    with readable(f"find runs of {experiment}"):
        found = client.get_experiment_by_name(experiment)
        if found is None:
            known = sorted(one.name for one in client.search_experiments())
            raise ValueError(f"the store has no experiment {experiment!r}: expected one of {known}")
        runs = client.search_runs(
            [found.experiment_id], where, max_results=limit, order_by=["attributes.start_time DESC"]
        )
        folders = [folder for run in runs if (folder := _fetch(client, run, target)) is not None]
    if not folders:
        raise ValueError(f"no trained run of {experiment} matches {where!r}")
    return folders


def _fetch(client: Any, run: Any, target: Path) -> Path | None:
    models = run.outputs.model_outputs if run.outputs else []
    if not models:
        return None
    folder = target / str(run.info.run_name)
    if folder.exists():
        folder = target / f"{run.info.run_name}-{run.info.run_id[:6]}"
    (folder / layout.MODEL).mkdir(parents=True)
    artifacts = f"{client.get_logged_model(models[-1].model_id).artifact_location}/artifacts/{layout.MODEL}"
    for name in OF_MODEL:
        download(f"{artifacts}/{name}", folder / layout.MODEL, client.tracking_uri)
    for name in (CONFIG, *(f"evaluation/{name}" for name in (layout.METRICS, layout.SUMMARY, layout.SCORES))):
        with suppress(Exception):  # of every kind, of file systems and servers: a sweep's runs are not evaluated
            download(f"{run.info.artifact_uri}/{name}", folder, client.tracking_uri)
    return folder


def download(uri: str, folder: Path, tracking_uri: str) -> Path:
    """Download an artifact, which is a file or a folder, into a folder."""
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(artifact_uri=uri, dst_path=str(folder), tracking_uri=tracking_uri))

"""The folder of a trained model in the tracking store, as an output of its run.

Its files are stored as they are, without code: `mlflow artifacts download` and `twicetold.load` give the model. The
steps go through the client, because `mlflow.log_model` works on a global current run in a global store.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from twicetold_lab.tracking.store import Store


def log(store: Store, run_id: str, model_folder: Path, *, name: str, params: Mapping[str, str]) -> str:
    """Upload a model folder and show it as the run's output.

    Args:
        store: the open store.
        run_id: the run that it is of.
        model_folder: what `twicetold.load` reads.
        name: shown in MLflow's list of models.
        params: shown in that list.

    Returns:
        The id of the logged model.
    """
    from mlflow.entities import LoggedModelOutput

    client = store.client
    plain = re.sub(r"[^\w-]", "-", name) or "model"
    model = client.create_logged_model(store.experiment_id, name=plain, source_run_id=run_id, params=dict(params))
    status = "FAILED"
    try:
        client.log_model_artifacts(model.model_id, str(model_folder))
        client.log_outputs(run_id, models=[LoggedModelOutput(model.model_id, step=0)])
        status = "READY"
    finally:
        client.finalize_logged_model(model.model_id, status)
    return str(model.model_id)

"""Saving a trained model in MLflow's format, and logging it with a run.

Signature, requirements, code and example are all stated: MLflow would otherwise load and run the model, in a second
process, to find them out. The steps go through the client, because `mlflow.pyfunc.log_model` works on a global
current run in a global store.
"""

import json
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import twicetold
from twicetold import layout
from twicetold.fingerprint import folder_digest
from twicetold_lab.tracking.store import Store

PACKAGE = Path(twicetold.__file__).parent
SCRIPT = Path(__file__).with_name("served_model.py")
DIGEST = "model_digest"
"""Tag of a logged model, and of a version: digest of the files of the model folder."""
REQUIREMENTS = (
    "mlflow",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "pyarrow",
    "safetensors",
    "jaxtyping",
    "tokenizers",
)
"""The libraries that scoring imports; training, tracking and reports need more."""
TRANSFORMER = "transformers"  # what scoring imports besides where a pretrained transformer reads the texts


def save(
    model_folder: Path,
    destination: Path,
    *,
    input_example: Mapping[str, Sequence[str]],
    about: Any = None,
) -> None:
    """Write the model in MLflow's format: the folder, the package's source, the script, signature and requirements.

    The source is one zip file, from which Python imports as from a folder: a hundred models would else bring twenty
    thousand files.

    Args:
        model_folder: what `twicetold.trained.model_folder.load_model` reads.
        destination: a folder that does not exist yet, or is empty.
        input_example: column -> values: either `text`, or `left` and `right`.
        about: an `mlflow.models.Model` that says which logged model this is.
    """
    import pandas as pd  # type: ignore[import-untyped]
    from mlflow import pyfunc

    with tempfile.TemporaryDirectory() as scratch:
        pyfunc.save_model(
            destination,
            python_model=SCRIPT,
            artifacts={"model": str(model_folder), "code": str(_zipped(PACKAGE, Path(scratch)))},
            signature=_signature(),
            input_example=pd.DataFrame({name: list(values) for name, values in input_example.items()}),
            pip_requirements=_pinned(model_folder),
            mlflow_model=about,
        )


def log(
    store: Store,
    run_id: str,
    model_folder: Path,
    *,
    name: str,
    input_example: Mapping[str, Sequence[str]],
    params: Mapping[str, str] | None = None,
) -> str:
    """Save the model, upload it and show it as the run's output.

    Args:
        store: the open store.
        run_id: the run that it is of.
        model_folder: what `twicetold.trained.model_folder.load_model` reads.
        name: shown in MLflow's list of models.
        input_example: column -> values: either `text`, or `left` and `right`.
        params: shown in that list.

    Returns:
        The id of the logged model.
    """
    from mlflow.entities import LoggedModelOutput
    from mlflow.models import Model

    client = store.client
    plain = re.sub(r"[^\w-]", "-", name) or "model"
    tags = {DIGEST: folder_digest(model_folder)}
    model = client.create_logged_model(
        store.experiment_id, name=plain, source_run_id=run_id, params=dict(params or {}), tags=tags
    )
    status = "FAILED"
    try:
        about = Model(
            artifact_path=model.artifact_location, model_uuid=model.model_id, run_id=run_id, model_id=model.model_id
        )
        with tempfile.TemporaryDirectory() as scratch:
            saved = Path(scratch) / "saved"
            save(model_folder, saved, input_example=input_example, about=about)
            client.log_model_artifacts(model.model_id, str(saved))
        client.log_outputs(run_id, models=[LoggedModelOutput(model.model_id, step=0)])
        status = "READY"
    finally:
        client.finalize_logged_model(model.model_id, status)
    return str(model.model_id)


def _zipped(package: Path, folder: Path) -> Path:
    """The package's source files as one zip file in `folder`, the same bytes for the same source."""
    archive = folder / f"{package.name}.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for file in sorted(package.rglob("*.py")):
            entry = zipfile.ZipInfo(str(file.relative_to(package.parent)))  # dated 1980
            target.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


def _signature() -> Any:
    """One signature for both uses: all columns are optional, and the served model says which go together."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import Array

    inputs = [ColSpec(DataType.string, name, required=False) for name in ("text", "left", "right")]
    kinds = {
        "embedding": Array(DataType.double),
        "indices": Array(DataType.long),
        "values": Array(DataType.double),
        "score": DataType.double,
        "about": DataType.string,
        "probability": DataType.double,
        "duplicate": DataType.boolean,
        "no_verdict": DataType.string,
    }
    outputs = [ColSpec(kind, name, required=False) for name, kind in kinds.items()]
    params = ParamSchema([ParamSpec("about", DataType.string, None)])
    return ModelSignature(inputs=Schema(inputs), outputs=Schema(outputs), params=params)


def _pinned(model_folder: Path) -> list[str]:
    recipes = [json.loads(file.read_text(encoding="utf-8")) for file in model_folder.rglob(layout.RECIPE)]
    targets = [str(recipe.get("features", {}).get("_target_")) for recipe in recipes]  # an ensemble's members have them
    by_transformer = any(target.startswith("twicetold.features.model_tokens.") for target in targets)
    names = (*REQUIREMENTS, TRANSFORMER) if by_transformer else REQUIREMENTS
    # "2.13.0+cpu" names a wheel of one machine's index; its public version is 2.13.0
    return [f"{name}=={version(name).split('+')[0]}" for name in names]

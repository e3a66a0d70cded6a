"""Locate and load pretrained transformers.

A name is a local folder, else a folder `models/<name>` of the mirror that `TWICETOLD_MIRROR` names, else a model of the
Hugging Face hub that is in its cache, where `fetch` puts it; nothing else here fetches. Nothing that is read can run
code: weights come from safetensors files alone, and a model's own Python files are never loaded.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from twicetold.packages import naming_the_extra

ENCODERS = (
    "albert",
    "bert",
    "camembert",
    "convbert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "mobilebert",
    "modernbert",
    "mpnet",
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
)
"""Types of text encoders. Some of the others download parts of themselves when they are built."""
FETCHED = ("attn_implementation", "experts_implementation", "auto_map", "quantization_config")
"""Settings by which a configuration names code to be fetched or another package."""


class ModelUnavailable(OSError):
    """A pretrained model is not available; the message says what to do."""


def located(model: str) -> str:
    """Return the folder of a model; its name if only the hub may have it.

    Args:
        model: a folder, or a name such as `sentence-transformers/all-MiniLM-L6-v2`; a mirror may leave out the part
            before the slash.
    """
    if Path(model).is_dir():
        return model
    mirror = os.environ.get("TWICETOLD_MIRROR")
    if mirror:
        for name in (model, model.rpartition("/")[2]):
            if (folder := Path(mirror, "models", name)).is_dir():
                return str(folder)
    return model


def folder_of(model: str) -> Path:
    """Return the folder of a model, which may be in the cache of the Hugging Face hub.

    Args:
        model: from `located`.

    Raises:
        ModelUnavailable: if there is no such model.
    """
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download

    with _readable(model):
        return Path(snapshot_download(model, local_files_only=True))


def fetch(model: str) -> None:
    """Have the cache of the Hugging Face hub hold a model that neither is a folder nor in the mirror.

    Raises:
        ModelUnavailable: if the hub does not give it.
    """
    if Path(model := located(model)).is_dir():
        return
    from huggingface_hub import snapshot_download

    with _readable(model):
        snapshot_download(model, allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"])


def transformers() -> ModuleType:
    """Import the package when it is needed: it takes seconds.

    Raises:
        PackageMissing: if it is not installed.
    """
    with naming_the_extra("a pretrained transformer"):
        import transformers

    module: ModuleType = transformers
    return module


def read(model: str) -> tuple[Any, Any]:
    """Return the tokenizer and configuration of a model.

    Args:
        model: from `located`.

    Raises:
        ModelUnavailable: if there is no such model.
    """
    package = transformers()
    with _readable(model):
        config = package.AutoConfig.from_pretrained(model, trust_remote_code=False, local_files_only=True)
        tokenizer = package.AutoTokenizer.from_pretrained(model, trust_remote_code=False, local_files_only=True)
        return tokenizer, config


def pooling(model: str) -> str:
    """Return the pooling of a model of sentence-transformers, one vector of a text's states: `mean` or `cls`.

    Args:
        model: from `located`. `mean` where it does not say.

    Raises:
        ModelUnavailable: if there is no such model.
        ValueError: if it does so in another way, or has further layers.
    """
    folder = folder_of(model)
    if not (folder / "modules.json").is_file():
        return "mean"
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    kinds = {module["type"].rpartition(".")[2]: module["path"] for module in modules}
    if further := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
        raise ValueError(
            f"expected a transformer and pooling in {model}, got {further[0]} as well, which is not built here: choose "
            "another model, or set features.pooling to mean or cls to do without it"
        )
    settings = json.loads((folder / kinds.get("Pooling", "") / "config.json").read_text(encoding="utf-8"))
    ways = [name for name in ("mean", "cls") if settings.get(f"pooling_mode_{name}_token{'s' * (name == 'mean')}")]
    others = [name for name, value in settings.items() if name.startswith("pooling_mode_") and value is True]
    if len(others) != 1 or not ways:
        raise ValueError(f"expected mean or cls as pooling of {model}, got {others}: set features.pooling")
    return ways[0]


def build(architecture: str, weights: str | None) -> Any:
    """Return the network, in float32; with random weights where `weights` is None, to be overwritten by saved ones.

    Args:
        architecture: its configuration, as JSON.
        weights: folder or name of the pretrained model, from `located`.

    Raises:
        ModelUnavailable: if there are no weights in safetensors format.
        ValueError: if it is none of `ENCODERS`, or has a setting that could fetch code.
    """
    import torch

    package = transformers()
    settings = json.loads(architecture)
    if settings.get("model_type") not in ENCODERS:
        raise ValueError(f"expected a model of type {', '.join(ENCODERS)}, got {settings.get('model_type')!r}")
    if named := [name for name, value in settings.items() if name.lstrip("_").startswith(FETCHED) and value]:
        raise ValueError(f"expected the configuration of a model without code of its own, got {named[0]!r}")
    config = package.AutoConfig.for_model(**settings)
    if weights is None:
        return package.AutoModel.from_config(config, trust_remote_code=False)
    package.utils.logging.disable_progress_bar()
    with _readable(weights):
        return package.AutoModel.from_pretrained(
            weights,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
            trust_remote_code=False,
            local_files_only=True,
        )


@contextmanager
def _readable(model: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        mirror = os.environ.get("TWICETOLD_MIRROR")
        tried = f"the mirror has no models/{model.rpartition('/')[2]}" if mirror else "TWICETOLD_MIRROR names no mirror"
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ModelUnavailable(
            f"cannot read the pretrained model {model!r}: {reason} "
            f"({'it is a folder' if Path(model).is_dir() else f'it is no folder, {tried}'}). "
            "Set features.model to a folder with config.json, tokenizer.json and model.safetensors, "
            "or to the name of a model at huggingface.co while that can be reached."
        ) from error

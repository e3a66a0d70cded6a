"""Identity of a training, by its learning keys, its data and its code, which finds its run and its checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twicetold.fingerprint import fingerprint, folder_digest
from twicetold.trained.provenance import named
from twicetold_lab.runs.environment import versions

ENSEMBLE_KEYS = (
    "name",
    "members",
    "stacking",
    "seed",
    "evaluator.primary",
    "evaluator.bins",
    "evaluator.classes",
)
"""Keys of an ensemble's config that change its score or its decision."""
LEARNING_KEYS = (
    "name",
    "features",
    "encoder",
    "examples",
    "objective",
    "optimizer",
    "trainer",
    "negatives",
    "seed",
    "evaluator.primary",  # what early stopping watches
    "evaluator.bins",
    "evaluator.classes",
)
"""Keys of a training config that change what is learnt; `dvc.yaml` tracks the same ones."""


@dataclass(frozen=True)
class Identity:
    """Names and fingerprint of one training."""

    data: str
    model: str
    seed: int
    learning: Mapping[str, Any]
    data_digest: str
    fingerprint: str
    """Fingerprint of all that DVC sees: learning keys, data and code."""

    @classmethod
    def of(cls, config: Mapping[str, Any], processed: Path, triplets: Path, *, code: str) -> "Identity":
        """From a resolved config, the folders of the corpus and its triplets, and the hash of the training's code.

        Other files that training reads count as data: pretrained vectors of features, the folder of a pretrained
        model, and files mined with a trained model (`examples.mined`).
        """
        learning = learning_of(config)
        examples = config["examples"] or {}
        strategy, mined = (examples.get(key) for key in ("strategy", "mined"))
        digest = folder_digest(processed)
        if strategy and triplets.is_dir():
            digest += folder_digest(triplets, [p.name for p in triplets.glob(f"{strategy}.*")])
        if mined and Path(mined).is_dir():
            digest += folder_digest(Path(mined))
        for vectors in named("vectors", config["features"]):
            digest += _digest(Path(vectors))
        for model in named("model", config["features"]):
            digest += folder_digest(Path(model)) if Path(model).is_dir() else ""  # or else it is a name at a hub
        return cls._named(config, learning, digest, fingerprint({**learning, "code": code}, digest))

    @classmethod
    def of_ensemble(
        cls, config: Mapping[str, Any], processed: Path, models: Mapping[str, Path], *, code: str
    ) -> "Identity":
        """From a resolved config, the folder of the corpus, the model folder of each member by name, and the code."""
        learning = {key: _at(config, key) for key in ENSEMBLE_KEYS} | {"members": list(models)}
        digest = folder_digest(processed)
        for model in models.values():
            digest += folder_digest(model)
        return cls._named(config, learning, digest, fingerprint({**learning, "code": code}, digest))

    @classmethod
    def _named(cls, config: Mapping[str, Any], learning: Mapping[str, Any], digest: str, mark: str) -> "Identity":
        seed = config["seed"]
        if not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed must be a whole number from 0 on; got {seed!r}")
        return cls(config["data"]["name"], config["name"], seed, learning, digest, mark)

    @property
    def run_name(self) -> str:
        """Name of its run in MLflow, within the experiment that is named after the data."""
        return f"{self.model}-{self.seed}"

    @property
    def outcome(self) -> str:
        """Names what the training comes to, its checkpoints and its value: the fingerprint and the library versions."""
        return with_versions(self.fingerprint)

    @property
    def tags(self) -> dict[str, str]:
        """Tags of its run in MLflow."""
        return {"data": self.data, "model": self.model, "seed": str(self.seed), "fingerprint": self.fingerprint}

    @property
    def feature_key(self) -> str:
        """Names corpus and featuriser settings; of an ensemble, its members."""
        part = "members" if "members" in self.learning else "features"
        return f"{self.data}-{fingerprint({part: self.learning[part]}, self.data_digest)}"


def with_versions(mark: str) -> str:
    """Return a fingerprint or a hash of code, and the versions of the libraries on which weights depend."""
    return fingerprint(versions(), mark)


def learning_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a resolved training config that change what is learnt."""
    return {key: _at(config, key) for key in LEARNING_KEYS}


def _digest(file: Path) -> str:
    return folder_digest(file.parent, [file.name])


def _at(config: Mapping[str, Any], key: str) -> Any:
    """Return the value at a dotted key."""
    for part in key.split("."):
        config = config[part]
    return config

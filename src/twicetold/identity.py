"""What identifies a training: its learning keys and its data. They find its run and its checkpoints again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twicetold import layout
from twicetold.features.vectors import at_hand
from twicetold.fingerprint import fingerprint, folder_digest
from twicetold.provenance import named

LEARNING_KEYS = (
    "name",
    "features",
    "encoder",
    "committee",
    "joined",
    "examples",
    "objective",
    "optimizer",
    "trainer",
    "augmentation",
    "consistency",
    "seed",
    "evaluator.primary",  # what early stopping watches
    "evaluator.bins",
)
"""Keys of a training config that change what is learnt; `dvc.yaml` tracks the same ones."""


@dataclass(frozen=True)
class Identity:
    """One training, named."""

    data: str
    model: str
    seed: int
    learning: Mapping[str, Any]
    data_digest: str
    fingerprint: str

    @classmethod
    def of(cls, config: Mapping[str, Any], processed: Path, triplets: Path) -> "Identity":
        """From a resolved config and the folders of the corpus and its triplets.

        Other files that are read count as data, so that another file is another training: pretrained vectors (of the
        features or a part of them, or of the augmentation), what a trained model mined (`examples.mined`), and an
        earlier generation (`joined`).
        """
        learning = {key: _at(config, key) for key in LEARNING_KEYS}
        examples = config["examples"] or {}
        strategy, mined = (examples.get(key) for key in ("strategy", "mined"))
        digest = folder_digest(processed, [p.name for p in processed.iterdir()])
        if strategy and triplets.is_dir():
            digest += folder_digest(triplets, [p.name for p in triplets.glob(f"{strategy}.*")])
        if config["joined"] and (model := Path(config["joined"], layout.MODEL)).is_dir():
            digest += folder_digest(model, [layout.WEIGHTS])
        if mined and Path(mined).is_dir():
            digest += folder_digest(Path(mined), [p.name for p in Path(mined).iterdir()])
        for vectors in named("vectors", config["features"]):
            file = at_hand(Path(vectors))
            digest += folder_digest(file.parent, [file.name])
        name, seed = config["data"]["name"], config["seed"]
        if not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed must be a whole number from 0 on; got {seed!r}")
        read = digest  # the augmentation's file does not concern the features
        augmentation = config["augmentation"]
        on = augmentation["share"] or config["consistency"]["weight"]
        if on and augmentation["synonym"] and augmentation["vectors"]:
            file = at_hand(Path(augmentation["vectors"]))
            read += folder_digest(file.parent, [file.name])
        return cls(name, config["name"], seed, learning, digest, fingerprint(learning, read))

    @property
    def run_name(self) -> str:
        """Name of its run in MLflow, within the experiment that is named after the data."""
        return f"{self.model}-{self.seed}"

    @property
    def tags(self) -> dict[str, str]:
        """What its run can be found by."""
        return {"data": self.data, "model": self.model, "seed": str(self.seed), "fingerprint": self.fingerprint}

    @property
    def feature_key(self) -> str:
        """Names corpus and featuriser settings."""
        return f"{self.data}-{fingerprint({'features': self.learning['features']}, self.data_digest)}"


def _at(config: Mapping[str, Any], key: str) -> Any:
    """The value at a dotted key."""
    for part in key.split("."):
        config = config[part]
    return config

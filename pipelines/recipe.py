"""The parts of a training from a composed configuration."""

from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold.augmentation.augment import Augmentation
from twicetold.evaluation.selection import Selection
from twicetold.training.parts import Parts
from twicetold.training.schedule import Schedule


def parts_of(cfg: DictConfig) -> Parts:
    """Build the parts of a training.

    Raises:
        ValueError: for an unknown setting or an invalid value.
    """

    def built(part: str, **shape: Any) -> Any:
        if cfg[part]._target_ is None:
            return None
        try:
            return instantiate(cfg[part], **shape)
        except InstantiationException as error:
            if "unexpected keyword" not in str(error):
                raise
            raise ValueError(
                f"{part} has a setting that {cfg[part]._target_} does not know: {error.__cause__}. It may come "
                f"from the recipe, whose values are for its own {part}, or from conf/tuned/: then add tuned=none"
            ) from error

    if not isinstance(rate := cfg.optimizer.get("lr", 1.0), int | float):
        raise ValueError(f"optimizer.lr is a number; got {rate!r}")
    return Parts(
        featuriser=built("features"),
        encoder_of=lambda shape: built("encoder", **shape),
        examples=built("examples"),
        objective=built("objective"),
        make_optimizer=built("optimizer"),
        schedule=Schedule(**cfg.trainer),
        selection=selection_of(cfg),
        augmentation=Augmentation.of(cfg.augmentation, weight=cfg.consistency.weight),
    )


def selection_of(cfg: DictConfig) -> Selection:
    """The keys of the evaluator that training reads."""
    kept = OmegaConf.to_container(cfg.evaluator)
    return Selection(kept["primary"], kept["bins"], kept["classes"])

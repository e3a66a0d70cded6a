"""The parts of a training and its tracking settings from a composed configuration."""

from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold import tracking
from twicetold.augmentation.augment import Augmentation
from twicetold.evaluation.selection import Selection
from twicetold.identity import Identity
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


def tracking_of(cfg: DictConfig, who: Identity) -> tuple[tracking.Settings, str | None]:
    """Tracking settings, and the parent run if this is a job of a sweep."""
    sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    settings = tracking.Settings(**cfg.tracking, root=Path.cwd(), origin="sweep" if sweep else cfg.origin)
    if not sweep:
        return settings, None
    folder = Path(HydraConfig.get().sweep.dir)
    name = f"sweep {folder.name}"
    return settings, tracking.sweep_parent(settings, experiment=who.data, sweep_id=str(folder), name=name)

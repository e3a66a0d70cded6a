"""The parts of a training, and the parameters of its run in MLflow, from a composed configuration."""

from collections.abc import Iterable
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.grid.code_identity import DESCENT
from twicetold_lab.grid.settings import CONF, check_names, check_settings, is_trained
from twicetold_lab.runs.identity import Identity, learning_of
from twicetold_lab.tracking import Settings
from twicetold_lab.tracking.notes import parameters_to_show
from twicetold_lab.training.parts import Parts
from twicetold_lab.training.schedule import Fitted, Runtime, Schedule

READ_BY = {"runtime": (Runtime,), "tracking": (Settings,)}
"""Classes that read the settings of parts without a `_target_`; `Schedule` checks those of `trainer` itself."""


def parts_of(cfg: DictConfig) -> Parts:
    """Build the parts of a training.

    Raises:
        ValueError: for an unknown setting or an invalid value.
    """
    check_settings(cfg, **READ_BY)

    def built(part: str, **shape: Any) -> Any:
        return None if cfg[part]._target_ is None else instantiate(cfg[part], **shape)

    return Parts(
        featuriser=built("features"),
        encoder_of=lambda shape: built("encoder", **shape),
        examples=built("examples"),
        objective=built("objective"),
        make_optimizer=built("optimizer"),
        schedule=schedule_of(cfg),
        selection=selection_of(cfg),
        descend=_descend if is_trained(cfg) else None,
        negatives=built("negatives"),
    )


def _descend(*args: Any, **kwargs: Any) -> Fitted:
    """Return gradient descent, imported when it is called: Lightning takes seconds, and settings may yet be refused."""
    trained: Fitted = get_object(DESCENT)(*args, **kwargs)
    return trained


def schedule_of(cfg: DictConfig) -> Schedule:
    """Return the settings of the trainer, with what they name by `_target_` built.

    Raises:
        ValueError: for a setting that it does not have, or an invalid value.
    """
    check_names("trainer", cfg.trainer, Schedule)
    return Schedule(**instantiate(cfg.trainer, _convert_="all"))


def runtime_of(cfg: DictConfig) -> Runtime:
    """Return the device and the workers of a training.

    Raises:
        ValueError: for what this machine does not have.
    """
    return Runtime(**cfg.runtime)


def selection_of(cfg: DictConfig) -> Selection:
    """Return the keys of the evaluator that training reads."""
    kept = OmegaConf.to_container(cfg.evaluator)
    return Selection(kept["primary"], kept["bins"], kept["classes"])


def params_of(cfg: DictConfig, who: Identity, named: Iterable[str] = ()) -> dict[str, Any]:
    """Return the parameters of a run in MLflow: what differs from its family's defaults, and what was asked for.

    Args:
        cfg: the configuration.
        who: the training's identity.
        named: keys that are shown with any value, beside those that the command sets.
    """
    if not cfg.tracking.enabled:
        return {}
    if "members" in who.learning:
        return {name: who.learning[name] for name in ("members", "seed")}
    hydra = HydraConfig.get()
    overridden = [override.lstrip("+~").partition("=")[0].partition("@")[0] for override in hydra.overrides.task]
    family = hydra.runtime.choices.get("model") or cfg.get("family")  # the latter in what compose.py rendered
    data = hydra.runtime.choices.get("data") or cfg.data.name
    defaults = _defaults(f"data={data}", f"model={family}") if family else {}
    return parameters_to_show(who.learning, defaults, [*overridden, *named])


def _defaults(*choices: str) -> dict[str, Any]:
    """Return the learning keys of a family without tuned values; empty if conf/ does not know it."""
    try:
        return learning_of(OmegaConf.to_container(composed([*choices, "tuned=none"]), resolve=True))
    except (HydraException, OmegaConfBaseException):
        return {}


def composed(overrides: list[str]) -> DictConfig:
    """Return the configuration of a training with other overrides, also within a program of Hydra."""
    if GlobalHydra.instance().is_initialized():
        return compose("train", overrides)
    with initialize_config_dir(f"{CONF}", version_base="1.3"):
        return compose("train", overrides)

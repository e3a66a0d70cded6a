"""A search: workers ask one study for values, train with them, and tell it what came out.

One call at a time runs a search (`multirun.LOCK`), so the trials that run in its study when a call begins were stopped
by Ctrl-C, a kill or a reboot. They are tried again, and go on from the last epoch of their training.
"""

import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from twicetold.errors import Pruned
from twicetold.files import one_at_a_time
from twicetold.printable import print
from twicetold_lab.grid.code_identity import code_now, learnt_from
from twicetold_lab.grid.jobs import Job, Result, in_a_line
from twicetold_lab.grid.recipe import composed
from twicetold_lab.grid.settings import without_hydra
from twicetold_lab.grid.study import (
    ATTEMPT,
    ATTEMPTS,
    CODE,
    EPOCHS,
    ERROR,
    METRIC,
    Sweep,
    counted,
    counts,
    overrides_of,
    storage,
)
from twicetold_lab.runs.identity import Identity

if TYPE_CHECKING:
    import optuna

KINDS = {"float": "FloatDistribution", "int": "IntDistribution", "categorical": "CategoricalDistribution"}
ASKING = "asking.lock"  # held while a worker counts the trials and takes the next one
NOW = "now"  # attribute of the trial of the values that the config has now, which the others are compared with
Train = Callable[[DictConfig, Path, Job], Result]


def space_of(cfg: DictConfig) -> dict[str, Any]:
    """Return the family's search space without the keys that the command sets.

    Raises:
        ValueError: if nothing is left to vary.
    """
    given = {override.lstrip("+").partition("=")[0] for override in cfg.hydra.overrides.task}
    space = {key: entry for key, entry in OmegaConf.to_container(cfg.sweep).items() if key not in given}
    if not space:
        raise ValueError(f"the command sets all that conf/sweep/{cfg.name}.yaml varies, nothing is left to search for")
    return space


def ranges(sweep: Sweep) -> dict[str, "optuna.distributions.BaseDistribution"]:
    """Return the space as Optuna's distributions.

    Raises:
        ValueError: if an entry is not in Optuna's terms.
    """
    import optuna

    made = {}
    for key, entry in sweep.varies.items():
        options = dict(entry)
        kind = options.pop("kind", None)
        try:
            made[key] = getattr(optuna.distributions, KINDS[kind])(**options)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"conf/sweep: {key} must be {{kind: float or int, low: ..., high: ..., log: true}} or {{kind: "
                f"categorical, choices: [...]}}; got {entry}: {error}"
            ) from error
    return made


def values_now(cfg: DictConfig, space: Mapping[str, "optuna.distributions.BaseDistribution"]) -> dict[str, Any]:
    """Return the config's values, in terms of the space: `'[300]'` for a list. Values out of range are left out."""
    values = {}
    for key, distribution in space.items():
        value = OmegaConf.select(cfg, key)
        if OmegaConf.is_list(value):
            texts = [choice for choice in getattr(distribution, "choices", ()) if isinstance(choice, str)]
            value = next((text for text in texts if yaml.safe_load(text) == list(value)), value)
        if _holds(distribution, value):
            values[key] = value
    return values


def open_search(sweep: Sweep, cfg: DictConfig) -> None:
    """Make the study, or take back the trials that a stopped call left, before workers start.

    The first trial of a new study has the values that the config has now. It is never pruned.

    Raises:
        ValueError: if the study is of other data, settings, code or library versions, or of another kind of space.
    """
    study, space = study_of(sweep, cfg, seed=0), ranges(sweep)
    anew = f"To search anew, remove the folder: rm -r {sweep.folder}"
    check_space(study, space, anew)
    processed, triplets = (Path(root, cfg.data.name) for root in (cfg.paths.processed, cfg.paths.triplets))
    config = OmegaConf.to_container(without_hydra(cfg), resolve=True)
    code = code_now("train", config, learnt_from(config))
    made_with = Identity.of(config, processed, triplets, code=code).outcome
    if study.user_attrs.setdefault("made_with", made_with) != made_with:
        raise ValueError(
            f"the trials in {sweep.folder} are of other data, settings, code or library versions: the data, conf/, "
            f"conf/tuned/, src/ or the environment have changed since. {anew}"
        )
    if not study.trials:
        study.set_user_attr("made_with", made_with)
        study.enqueue_trial(values_now(cfg, space), user_attrs={NOW: True})
        return
    take_back(study, sweep)
    print(f"{sweep.folder}: {counts(study)} are there; the search goes on to {cfg.trials} trials")


def check_space(study: "optuna.Study", space: Mapping[str, "optuna.distributions.BaseDistribution"], anew: str) -> None:
    """Check that a study can go on in a space: ranges may be others, but neither kinds nor choices.

    Raises:
        ValueError: if it cannot.
    """
    from optuna.distributions import check_distribution_compatibility

    for trial in study.get_trials(deepcopy=False):
        for key in trial.distributions.keys() & space.keys():
            try:
                check_distribution_compatibility(trial.distributions[key], space[key])
            except ValueError as error:
                raise ValueError(
                    f"trials of the search had {trial.distributions[key]} for {key}, and conf/sweep/ has {space[key]}: "
                    f"a search keeps the choices that it began with. {anew}"
                ) from error


def take_back(study: "optuna.Study", sweep: Sweep) -> None:
    """Have the trials tried again that run in the study, while no worker does."""
    for trial in study.get_trials(deepcopy=False, states=[_state("RUNNING")]):
        attempt = trial.user_attrs.get(ATTEMPT, 1)
        study.tell(trial.number, state=_state("FAIL"))
        if attempt < ATTEMPTS:
            study.enqueue_trial(trial.params, user_attrs={**trial.user_attrs, ATTEMPT: attempt + 1})
        shutil.rmtree(sweep.model(trial.number), ignore_errors=True)


def work(cfg: DictConfig, train: Train) -> None:
    """Run trials, as one worker, until the study has enough."""
    sweep = Sweep.read(Path(HydraConfig.get().sweep.dir))
    space = ranges(sweep)
    study = study_of(sweep, cfg, seed=cfg.worker)
    while True:
        with one_at_a_time(sweep.folder / ASKING):
            if sum(map(counted, study.get_trials(deepcopy=False))) >= cfg.trials:
                return
            trial = study.ask(space)
        _try(study, trial, partial(_train_trial, trial, sweep, train))
        if study.trials[trial.number].state.name != "COMPLETE":
            shutil.rmtree(sweep.model(trial.number), ignore_errors=True)


def study_of(sweep: Sweep, cfg: DictConfig, *, seed: int) -> "optuna.Study":
    """Return the sweep's study, with a sampler that does not repeat the draws of an earlier call."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name=sweep.folder.name,
        storage=storage(sweep.folder),
        direction="maximize",
        load_if_exists=True,
        pruner=instantiate(cfg.pruner),
    )
    study.sampler = instantiate(cfg.sampler)(seed=1000 * len(study.get_trials(deepcopy=False)) + seed)
    return study


def _try(study: "optuna.Study", trial: "optuna.Trial", run: Callable[[], Result]) -> None:
    """Run a trial and tell the study; after Ctrl-C it is told nothing, as after a kill."""
    try:
        result = run()
    except Pruned as why:
        study.tell(trial, state=_state("PRUNED"))
        print(f"trial {trial.number} was stopped: {why}", flush=True)
        return
    except Exception as error:
        trial.set_user_attr(ERROR, in_a_line(error))
        study.tell(trial, state=_state("FAIL"))
        print(f"trial {trial.number} failed: {in_a_line(error)}", file=sys.stderr)
        return
    trial.set_user_attr(METRIC, result.metric)
    trial.set_user_attr(EPOCHS, result.epochs)
    trial.set_user_attr(CODE, result.code)
    study.tell(trial, result.value)


def _train_trial(trial: "optuna.Trial", sweep: Sweep, train: Train) -> Result:
    cfg = composed([*sweep.overrides, *overrides_of(trial.params)])

    def on_epoch(metrics: dict[str, float], epoch: int) -> None:
        (value,) = (value for name, value in metrics.items() if name.startswith("val/"))
        trial.report(value, epoch + 1)
        if NOW not in trial.user_attrs and trial.should_prune():
            raise Pruned(f"among the worse ones after {epoch + 1} epochs, at {value:.4f}")

    return train(cfg, sweep.model(trial.number), Job(sweep, sweep.name(trial.params), on_epoch))


def _holds(distribution: "optuna.distributions.BaseDistribution", value: Any) -> bool:
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError):
        return False


def _state(name: str) -> "optuna.trial.TrialState":
    import optuna

    return optuna.trial.TrialState[name]

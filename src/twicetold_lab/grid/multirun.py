"""Steps before and after the jobs of a multirun, as a callback of Hydra.

Before: every job is composed and its choices checked, data is prepared once, and the parent run in MLflow is made.
After: the ranking is printed, and the parent run gets it.
"""

import atexit
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from twicetold.errors import readable_errors
from twicetold.files import only_process
from twicetold.printable import print
from twicetold_lab import tracking
from twicetold_lab.grid.jobs import code_of
from twicetold_lab.grid.recipe import composed, parts_of
from twicetold_lab.grid.settings import check_used, check_whole, is_trained, readable_refusals
from twicetold_lab.grid.standalone import prepare_data, reads_triplets
from twicetold_lab.grid.study import (
    CODE,
    METRIC,
    RESULT,
    Sweep,
    ended,
    finished,
    overrides_of,
    ranking,
    read_result,
    read_study,
    sweep_folder,
)
from twicetold_lab.grid.trials import open_search, space_of

MULTIRUN = ("-m", "--multirun")
LOCK = "sweep.lock"  # held by the process that runs a sweep, until it ends
OF_SEARCH = ("worker=", "trials=", "sampler", "pruner")  # overrides that a training does not know

_held = ExitStack()  # not of the callback, which launchers send to other processes
atexit.register(_held.close)


def name_folder() -> None:
    """Give a multirun on the command line its folder, by what the command says, unless it names one."""
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if set(MULTIRUN) & set(sys.argv) and not any(argument.startswith("hydra.sweep.dir=") for argument in given):
        sys.argv.append(f"hydra.sweep.dir={sweep_folder(given)}")


def forget_others(sweep: Sweep, configs: Iterable[DictConfig]) -> None:
    """Remove results of other code than now, so that the ranking has none of them whatever becomes of the jobs."""
    forgotten = 0
    for number, cfg in enumerate(configs):
        result = read_result(sweep.model(number))
        if "value" in result and result.get(CODE) != code_of(cfg):
            (sweep.model(number) / RESULT).unlink()
            forgotten += 1
    if forgotten:
        print(f"{sweep.folder}: {forgotten} results are of other code or library versions: these jobs run again")


class Multirun(Callback):
    """Called by Hydra in the process that launches the jobs."""

    def on_multirun_start(self, config: DictConfig, config_name: str | None = None, **_: Any) -> None:
        """Check, prepare, and make the parent run."""
        with _ending():
            begin(config)

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Say what came out."""
        with _ending():
            sweep = Sweep.read(Path(config.hydra.sweep.dir))
            end_lost(sweep, config)
            end(sweep, _settings(config), trials=config.get("trials"))


def begin(config: DictConfig) -> None:
    """Prepare a sweep before its first job.

    Raises:
        ValueError: if the choices of a job make no sense.
        BlockingIOError: if another process runs this sweep.
    """
    loader = GlobalHydra.instance().config_loader()
    overrides = OverridesParser.create(config_loader=loader).parse_overrides(list(config.hydra.overrides.task))
    (jobs,) = BasicSweeper.split_arguments(overrides, None)
    varied = [o for o in overrides if o.is_sweep_override()]
    swept = {o.get_key_element().lstrip("+"): list(o.sweep_string_iterator()) for o in varied}
    fixed = [o.input_line for o in overrides if o not in varied and not o.input_line.lstrip("+~").startswith(OF_SEARCH)]
    searching = "worker" in config
    if searching:
        swept.pop("worker", None)
        check_whole(config, "trials")
        jobs = jobs[:1]
    with readable_refusals():
        configs = [loader.load_sweep_config(config, list(job)) for job in jobs]
    trained = any(map(is_trained, configs))  # what no family of the sweep reads is refused, and what one does not vary
    for cfg, job in zip(configs, jobs, strict=True):
        check_used(cfg, [o for o in job if not trained or o.lstrip("+").partition("=")[0] in swept])
        parts_of(cfg)
    folder = Path(config.hydra.sweep.dir)
    _held.enter_context(only_process(folder / LOCK, f"the sweep {folder}"))
    by_data = {cfg.data.name: cfg for cfg in configs}
    for cfg in {(cfg.data.name, reads_triplets(cfg)): cfg for cfg in configs}.values():
        prepare_data(cfg, cfg.hydra)
    if searching:
        swept = space_of(configs[0])
    sweep = Sweep(folder, fixed, swept, [] if searching else jobs)
    if searching:
        open_search(sweep, configs[0])
    names = "+".join(dict.fromkeys(cfg.name for cfg in configs))
    name = f"sweep {names} {', '.join(key.rpartition('.')[2] for key in swept)}"
    sweep = replace(sweep, parents={data: _parent(sweep, data, cfg, name) for data, cfg in by_data.items()})
    sweep.save()
    end_lost(sweep, config)  # of an earlier call
    if searching:
        return
    forget_others(sweep, configs)
    if finished_jobs := sum("value" in read_result(sweep.model(number)) for number in range(len(jobs))):
        print(f"{folder}: {finished_jobs} of {len(jobs)} jobs are there and will not be repeated")


def _parent(sweep: Sweep, data: str, cfg: DictConfig, name: str) -> str | None:
    """The parent run of a dataset, which ends with this process at the latest, as do the runs of its jobs."""
    settings = _settings(cfg)
    parent = tracking.sweep_parent(settings, experiment=data, sweep_id=sweep.folder.name, name=name)
    _held.callback(tracking.end_sweep, settings, parent, experiment=data, status="KILLED")
    _held.callback(tracking.end_lost_runs, settings, parent, experiment=data)
    return parent


def end_lost(sweep: Sweep, config: DictConfig) -> None:
    """End the runs in MLflow of jobs whose processes were killed; called while none is at work."""
    for data, parent in sweep.parents.items():
        tracking.end_lost_runs(_settings(config), parent, experiment=data)


def _settings(cfg: DictConfig) -> tracking.Settings:
    return tracking.Settings(**cfg.tracking, root=Path.cwd(), origin="sweep")


def end(sweep: Sweep, settings: tracking.Settings, *, trials: int | None = None) -> None:
    """Report a sweep after its last job.

    Args:
        sweep: that has ended.
        settings: of its parent runs.
        trials: of a search, those asked for.

    Raises:
        ValueError: if no job has a value, or workers were lost before there were enough trials.
    """
    study = read_study(sweep)
    lacking = trials is not None and len(ended(study)) < trials
    text = ranking(sweep, study)
    print(text, flush=True)
    for data, parent in sweep.parents.items():
        done = [trial for trial in finished(study) if trial.params.get("data", data) == data]
        status = "FINISHED" if done and not lacking else "FAILED"
        tracking.end_sweep(settings, parent, experiment=data, status=status)
        if not done:
            continue
        best = composed([*sweep.overrides, *overrides_of(done[0].params)])
        config_of_best = OmegaConf.to_yaml(best, resolve=True)
        primary = done[0].user_attrs[METRIC]
        tracking.describe_sweep(
            settings,
            parent,
            experiment=data,
            primary=primary,
            best=sweep.name(done[0].params),
            texts={"ranking.txt": text, "best.yaml": config_of_best},
        )
        page = tracking.address_of_sweep(settings, parent, experiment=data, primary=primary, params=[*sweep.varies])
        if page is not None:
            print(f"its runs, with `make ui`: {page}", flush=True)
    if not finished(study):
        raise ValueError("no training of the sweep has a value")
    if lacking:
        there = f"{len(ended(study))} of {trials} trials are there"
        raise ValueError(f"{there}, as workers were lost; the same command goes on")


@contextmanager
def _ending() -> Iterator[None]:
    """End the program after an error; Hydra would make a warning of it and go on."""
    try:
        with readable_errors():
            yield
    except Exception as error:
        traceback.print_exc()
        raise SystemExit(1) from error

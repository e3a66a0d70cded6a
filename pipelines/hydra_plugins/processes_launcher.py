"""A launcher of Hydra for processes of this machine, `hydra/launcher=processes`, of sweeps with several workers."""

import os
import signal
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from twicetold.printable import print
from twicetold_lab.grid.processes import CTRL_C, Processes


class ProcessesLauncher(Launcher):
    """Runs jobs in several processes, each of which takes one job after another.

    Args:
        processes: how many; None: one for each core.
    """

    def __init__(self, processes: int | None) -> None:
        self.processes = processes or os.cpu_count() or 1

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before `launch`."""
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; one whose process is lost has no value, and says so in a line."""
        setup_globals()
        arguments = self.context, self.config, self.task.__name__, Singleton.get_state()["instances"]
        waiting, ended = deque(enumerate(job_overrides)), {}
        with closing(Processes(self.processes, _serve, *arguments)) as workers:
            try:
                while waiting or workers.busy:
                    while waiting and not workers.full:
                        number, overrides = waiting.popleft()
                        workers.start((initial_job_idx + number, list(overrides)))
                    for (number, overrides), result, lost in workers.results():
                        if lost:
                            ran = " ".join(overrides)
                            print(f"lost: {lost}; the others go on. It ran: {ran}", file=sys.stderr, flush=True)
                            result = _ended(overrides, JobStatus.COMPLETED, float("nan"))
                        ended[number] = result
            except BaseException:
                workers.terminate()
                raise
        return [ended[number] for number in sorted(ended)]


def _serve(
    connection: Connection, context: HydraContext, config: DictConfig, task: str, state: dict[type, Any]
) -> None:
    """Run jobs in a process until there are no more, or until its launcher has ended."""
    with suppress(KeyboardInterrupt, EOFError, ConnectionError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, CTRL_C)
        setup_globals()
        Singleton._instances = state
        Plugins.instance()  # which Hydra does not send
        main = getattr(sys.modules["__main__"], task).__wrapped__  # by Hydra's decorator
        while True:
            number, overrides = connection.recv()
            connection.send(_run(context, config, main, number, overrides))


def _run(context: HydraContext, config: DictConfig, task: TaskFunction, number: int, overrides: list[str]) -> JobReturn:
    job = context.config_loader.load_sweep_config(config, overrides)
    with open_dict(job):
        job.hydra.job.id, job.hydra.job.num = f"{job.hydra.job.name}_{number}", number
    try:
        done = run_job(
            task_function=task,
            config=job,
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
            hydra_context=context,
        )
    except SystemExit as error:  # an expected one, with its message
        return _ended(overrides, JobStatus.FAILED, error)
    return _ended(overrides, done.status, done._return_value)


def _ended(overrides: Sequence[str], status: JobStatus, value: Any) -> JobReturn:
    done = JobReturn(overrides=overrides, status=status)
    done.return_value = value
    return done


@dataclass
class ProcessesLauncherConf:
    """Settings of the launcher."""

    _target_: str = "hydra_plugins.processes_launcher.ProcessesLauncher"
    processes: int | None = None


ConfigStore.instance().store(
    group="hydra/launcher", name="processes", node=ProcessesLauncherConf(), provider="twicetold"
)

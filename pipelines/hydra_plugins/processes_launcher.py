"""A launcher of Hydra for processes of this machine, `hydra/launcher=processes`: a lost process leaves the others.

It is the launcher of sweeps with several workers. hydra-joblib-launcher ends all jobs if one
process is killed, by a lack of memory say.
"""

from twicetold.command_line import end_with_parent

import os
import signal
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from twicetold.printable import print

CTRL_C = {signal.SIGINT}


class Worker(NamedTuple):
    """A process, and the way to it."""

    process: BaseProcess
    connection: Connection


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
        ended: dict[int, JobReturn] = {}
        waiting = deque(enumerate(job_overrides))
        idle: list[Worker] = []
        busy: dict[Connection, tuple[Worker, int]] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self.processes:
                    worker = idle.pop() if idle else self._start()
                    number, overrides = waiting.popleft()
                    worker.connection.send((initial_job_idx + number, list(overrides)))
                    busy[worker.connection] = worker, number
                for connection in wait(list(busy)):
                    worker, number = busy.pop(connection)  # type: ignore[call-overload]
                    try:
                        ended[number] = worker.connection.recv()
                        idle.append(worker)
                    except (EOFError, ConnectionError):
                        ended[number] = _lost(worker.process, job_overrides[number])
        except BaseException:
            for worker, _ in busy.values():
                worker.process.terminate()
            raise
        finally:
            for worker in [*idle, *(worker for worker, _ in busy.values())]:
                worker.connection.close()  # what the process waits for, and ends
                worker.process.join()
        return [ended[number] for number in sorted(ended)]

    def _start(self) -> Worker:
        context = get_context("spawn")  # a fork would have the threads' locks of this process, and not its threads
        own, other = context.Pipe()
        arguments = (other, self.context, self.config, self.task.__name__, Singleton.get_state()["instances"])
        process = context.Process(target=_serve, args=arguments)
        signal.pthread_sigmask(signal.SIG_BLOCK, CTRL_C)  # also in the process, until it can end without a traceback
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, CTRL_C)
        other.close()
        return Worker(process, own)


def _serve(
    connection: Connection, context: HydraContext, config: DictConfig, task: str, state: dict[type, Any]
) -> None:
    """Run jobs in a process until there are no more, or until its launcher has ended."""
    end_with_parent()
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


def _lost(process: BaseProcess, overrides: Sequence[str]) -> JobReturn:
    process.join()
    code = process.exitcode or 0
    how = f"was killed by signal {-code}, for lack of memory perhaps" if code < 0 else f"ended with status {code}"
    print(
        f"lost: process {process.pid} {how}; the others go on. It ran: {' '.join(overrides)}",
        file=sys.stderr,
        flush=True,
    )
    return _ended(overrides, JobStatus.COMPLETED, float("nan"))


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

"""A launcher of Hydra for Ray, `hydra/launcher=ray`: here, or on the cluster that `hydra.launcher.init.address` names.

hydra-ray-launcher 1.2.2 needs cloudpickle below 3 (docs/explanation/decisions/0031-cells-as-jobs.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict


class RayLauncher(Launcher):
    """Runs each job as a task of Ray.

    Args:
        init: arguments of `ray.init`.
        remote: options of a task: `num_cpus`, `num_gpus`, `max_retries`.
    """

    def __init__(self, init: dict[str, Any], remote: dict[str, Any]) -> None:
        self.init, self.remote = dict(init), dict(remote)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra before `launch`."""
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; an error of Ray itself, such as a lost worker, is raised when all have ended."""
        import ray  # takes a second, and every script of Hydra imports this module

        setup_globals()
        if not ray.is_initialized():  # by an earlier batch of hydra.sweeper.max_batch_size
            ray.init(**self.init)
        run = ray.remote(_run).options(**self.remote)
        jobs = []
        for number, overrides in enumerate(job_overrides, initial_job_idx):
            config = self.context.config_loader.load_sweep_config(self.config, list(overrides))
            with open_dict(config):
                config.hydra.job.id, config.hydra.job.num = f"{config.hydra.job.name}_{number}", number
            jobs.append(run.remote(self.context, config, self.task, Singleton.get_state()))
        ray.wait(jobs, num_returns=len(jobs))
        return list(ray.get(jobs))


def _run(context: HydraContext, config: DictConfig, task: TaskFunction, state: dict[Any, Any]) -> JobReturn:
    setup_globals()
    Singleton.set_state(state)
    return run_job(
        task_function=task,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
        hydra_context=context,
    )


@dataclass
class RayLauncherConf:
    """Settings of the launcher."""

    _target_: str = "hydra_plugins.ray_launcher.RayLauncher"
    init: dict[str, Any] = field(
        default_factory=lambda: {"address": "local", "num_cpus": None, "include_dashboard": False}
    )
    remote: dict[str, Any] = field(default_factory=lambda: {"num_cpus": 1, "max_retries": 3})


ConfigStore.instance().store(group="hydra/launcher", name="ray", node=RayLauncherConf(), provider="twicetold")

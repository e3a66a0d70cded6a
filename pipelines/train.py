"""Train one family on one dataset; returns val/<primary>, by which a sweep is judged.

Usage: python pipelines/train.py [-m] data=<name> model=<family> [<key>=<value> ...]

Examples:
    python pipelines/train.py data=toy_questions model=static
    python pipelines/train.py -m data=toy_news model=dae,dssm seed=0,1 profile=smoke

With -m, values with commas are a sweep over all combinations. A sweep that was stopped goes on when it is called again:
its folder is named by what the command says.
"""

import checkout  # noqa: F401 (for its effects)

from functools import partial
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from twicetold.errors import readable_errors
from twicetold_lab.grid.jobs import Job, Result, as_job
from twicetold_lab.grid.multirun import name_folder
from twicetold_lab.grid.observation import log, logger_of, tell, tracked
from twicetold_lab.grid.settings import run_script
from twicetold_lab.grid.training import begin, finished_earlier, fit, save


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
def main(cfg: DictConfig) -> float:
    with readable_errors():
        out, job = Path(HydraConfig.get().runtime.output_dir), Job.current()
        return train(cfg, out).value if job is None else as_job(out, partial(train, cfg, out, job))


def train(cfg: DictConfig, out: Path, job: Job | None = None) -> Result:
    """Train, by itself or as a job of a sweep."""
    training = begin(cfg, job)
    if (earlier := finished_earlier(training, out)) is not None:
        return earlier
    with tracked(training) as run:
        trained = fit(training, logger_of(training, run))
        save(training, trained, out)
        result = log(training, trained, out, run)
    tell(training, trained, result, out, run)
    return result


if __name__ == "__main__":
    name_folder()
    run_script(main)

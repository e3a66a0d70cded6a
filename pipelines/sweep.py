"""A sweep, on validation only: a search with Optuna, or every combination of values.

Usage: python pipelines/sweep.py data=<name> model=<family> [trials=<n>] [workers=<n>] [<key>=<value>,... ...]

Examples:
    python pipelines/sweep.py data=uci_news model=dae trials=40 workers=2
    python pipelines/sweep.py data=uci_news model=dae objective.alpha=10,100 seed=0,1

Without lists of values it searches the space in `conf/sweep/<model>.yaml` with Optuna: `trials=40`. Where keys have
lists of values (`objective.alpha=10,100`) it tries every combination, as `train.py -m` does. `workers=2` runs two
trainings at the same time. The same command goes on with a sweep that was stopped.
"""

import checkout  # noqa: F401 (for its effects)

import os
import sys
from pathlib import Path

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException
from omegaconf import DictConfig

import train
from twicetold.errors import readable_errors
from twicetold_lab.grid.multirun import name_folder
from twicetold_lab.grid.settings import choices, no_such, run_script
from twicetold_lab.grid.trials import work


@hydra.main(version_base="1.3", config_path="../conf", config_name="search")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        work(cfg, train.train)


def start(arguments: list[str]) -> None:
    """Start a grid or a search.

    Raises:
        ValueError: if the family has no search space, or the number of workers is none.
    """
    settings = dict(a.partition("=")[::2] for a in arguments if not a.startswith("-"))
    workers = settings.get("workers", "1")
    if not (workers.isdecimal() and int(workers)):
        raise ValueError(f"workers must be a whole number from 1 on; got {workers!r}")
    rest = [a for a in arguments if not a.startswith("workers=")]
    is_grid = any(o.is_sweep_override() for o in OverridesParser.create().parse_overrides(rest))
    if not is_grid:
        check_space(settings.get("model", ""))
        rest = [f"worker={','.join(map(str, range(int(workers))))}", *rest]
    if "hydra/launcher" not in settings and int(workers) > 1:
        rest += ["hydra/launcher=processes", f"hydra.launcher.processes={workers}"]
    if is_grid:  # Hydra finds conf/ from the script that was started
        script = str(Path(__file__).with_name("train.py"))
        os.execv(sys.executable, [sys.executable, script, "-m", *rest])
    sys.argv[1:] = ["-m", *rest]
    name_folder()
    run_script(main)


def check_space(model: str) -> None:
    """Check that a family has a search space.

    Raises:
        ValueError: if it has none, or there is no such family.
    """
    if model not in (families := choices("model")):
        raise ValueError(no_such(f"model={model or '<family>'}", model, families, before="model="))
    if model not in (spaces := choices("sweep")):
        raise ValueError(
            f"conf/sweep/ has no search space for model={model}. There are: {', '.join(spaces)}. Of any other, values "
            "of a setting can be listed: python pipelines/train.py -m model=tfidf features.max_features=5000,20000"
        )


if __name__ == "__main__":
    if "--hydra-help" in sys.argv:
        main()
    else:
        try:
            with readable_errors():
                start(sys.argv[1:])
        except OverrideParseException as error:
            raise SystemExit(f"error: {error}") from error

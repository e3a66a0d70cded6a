"""Render every cell of the grid in params.yaml to a resolved config file: `compose.py <folder>`.

Imports neither torch nor the library, so that composing costs under a second.
"""

from itertools import product
from pathlib import Path
from sys import argv

from hydra import compose, initialize
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException


def render(primary: str, target: Path, overrides: list[str]) -> None:
    try:
        config = compose(primary, overrides=overrides)
        OmegaConf.resolve(config)
    except (HydraException, OmegaConfBaseException) as error:
        raise SystemExit(f"cannot compose {target.stem} from {' '.join(overrides)}:\n{error}") from error
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(OmegaConf.to_yaml(config, sort_keys=True), encoding="utf-8")


def main() -> None:
    if len(argv) != 2 or argv[1].startswith("-"):
        raise SystemExit(f"expected one folder to write to, got {argv[1:]}: python pipelines/compose.py build/conf")
    grid, out = OmegaConf.load("params.yaml"), Path(argv[1])
    check(grid)
    data_overrides = [o for o in grid.overrides if o.lstrip("+~").startswith(("data.", "data@", "mining."))]
    with initialize(version_base="1.3", config_path="../conf"):
        for data in grid.data:
            chosen = [f"data={data}", f"profile={grid.profile}", *data_overrides]
            render("prepare", out / "prepare" / f"{data}.yaml", chosen)
        for data, model, seed in product(grid.data, grid.model, grid.seed):
            chosen = [f"data={data}", f"model={model}", f"seed={seed}", f"profile={grid.profile}", *grid.overrides]
            render("train", out / "train" / f"{data}-{model}-{seed}.yaml", chosen)
        students = grid.self_training
        for data, mining, seed in product(students.data, students.mining, grid.seed):
            chosen = [f"data={data}", f"mining={mining}", f"seed={seed}", f"teacher={students.teacher}"]
            chosen += [o for o in data_overrides if not o.lstrip("+~").startswith("mining.")]
            render("mine_with_model", out / "self_training" / f"{data}-{mining}-{seed}.yaml", chosen)
        for data, model, mining, seed in product(students.data, students.model, students.mining, grid.seed):
            name = f"{model}-{mining}"
            chosen = [f"data={data}", f"model={model}", f"seed={seed}", f"profile={grid.profile}", *grid.overrides]
            chosen += [f"examples={mining}", f"teacher={students.teacher}", f"name={name}"]
            render("train", out / "train" / f"{data}-{name}-{seed}.yaml", chosen)


def check(grid: DictConfig) -> None:
    students = grid.self_training
    without = set(students.data) - set(grid.data)
    if without and students.mining:
        raise SystemExit(
            f"self_training.data has {sorted(without)}, which data of params.yaml has not: {grid.data}. "
            "Without self-training: self_training: {data: [], teacher: null, model: [], mining: []}"
        )
    if students.data and students.mining and students.teacher not in grid.model:
        raise SystemExit(f"self_training.teacher={students.teacher} must be in model of params.yaml: {grid.model}")


if __name__ == "__main__":
    main()

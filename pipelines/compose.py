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
        second = grid.second_round
        for data, examples, seed in product(second.data, second.examples, grid.seed):
            chosen = [f"data={data}", f"lesson={examples}", f"seed={seed}", f"teacher={second.teacher}"]
            chosen += [o for o in data_overrides if not o.lstrip("+~").startswith("mining.")]
            render("teach", out / "teach" / f"{data}-{examples}-{seed}.yaml", chosen)
        for data, model, examples, seed in product(second.data, second.model, second.examples, grid.seed):
            name = f"{model}-{examples}"
            chosen = [f"data={data}", f"model={model}", f"seed={seed}", f"profile={grid.profile}", *grid.overrides]
            chosen += [f"examples={examples}", f"name={name}", *second.get("overrides", [])]
            if second.get("joined") and model == second.teacher:
                chosen.append(f"joined=${{paths.runs}}/{data}-{model}-{seed}")
            render("train", out / "train" / f"{data}-{name}-{seed}.yaml", chosen)


def check(grid: DictConfig) -> None:
    second = grid.second_round
    without = set(second.data) - set(grid.data)
    if without and second.examples:
        raise SystemExit(
            f"second_round.data has {sorted(without)}, which data of params.yaml has not: {grid.data}. "
            "Without a second round: second_round: {data: [], teacher: null, model: [], examples: []}"
        )
    if second.data and second.examples and second.teacher not in grid.model:
        raise SystemExit(f"second_round.teacher={second.teacher} must be in model of params.yaml: {grid.model}")


if __name__ == "__main__":
    main()

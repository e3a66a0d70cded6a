#!/usr/bin/env python
"""What is each variant of a training worth? Reproduce a grid once per variant and compare what came out.

A grid of conf/grid with `variants`, names with Hydra overrides, is made by `tools/grid` in build/<name>/, once for each
variant with its overrides; the first variant is the grid as it is, second round and all. What the report needs of each
run is copied to build/<name>/variants/<variant>/<cell>/, and the table goes to build/<name>/ABLATION.md. DVC keeps what
has run: a second call, or one after a kill, goes on from there.
"""

import argparse
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

from omegaconf import OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.files import write_text
from twicetold.reporting import Cell
from twicetold.reporting.ablation import ablation

TOP = Path(__file__).resolve().parents[1]
TABLE = "ABLATION.md"
LEFT_OUT = ("*.safetensors", layout.OBSERVED)  # weights; and seconds, which may be those of another variant


def main(arguments: list[str]) -> None:
    """Reproduce every variant, and print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", default="ablation", help="a file of conf/grid that has variants")
    asked = parser.parse_args(arguments)
    file = TOP / f"conf/grid/{asked.grid}.yaml"
    grid = OmegaConf.load(file)
    if "variants" not in grid:
        raise ValueError(
            f"{file} has no variants: expected names with lists of overrides, as in conf/grid/ablation.yaml"
        )
    work = TOP / "build" / asked.grid
    cells = [Cell(*cell) for cell in product(grid.data, grid.model, grid.seed)]
    for variant, overrides in grid.variants.items():
        print(f"{asked.grid}: {variant} ({' '.join(overrides) or 'as it is'})", flush=True)
        if subprocess.run([str(TOP / "tools/grid"), asked.grid, *overrides], check=False).returncode:
            raise ValueError(f"the variant {variant} of {asked.grid} failed, see above")
        keep(cells, work / "runs", work / "variants" / variant)
        if not overrides:
            for examples in grid.second_round.examples:
                keep(cells, work / "runs", work / "variants" / examples, again=f"-{examples}")
    text = ablation(cells, [*grid.variants, *grid.second_round.examples], runs=work / "variants")
    write_text(work / TABLE, text)
    print(f"\n{text}\nin {work / TABLE}")


def keep(cells: list[Cell], runs: Path, target: Path, *, again: str = "") -> None:
    """Copy what the report reads of each run to where it was before; `again` ends the names of a second round's."""
    shutil.rmtree(target, ignore_errors=True)
    for cell in cells:
        run = runs / Cell(cell.data, cell.model + again, cell.seed).name
        shutil.copytree(run, target / cell.name, ignore=shutil.ignore_patterns(*LEFT_OUT))


if __name__ == "__main__":
    with readable_errors():
        main(sys.argv[1:])

"""Leaderboard and HTML report of every cell of the grid in params.yaml; `--show` prints the leaderboard instead."""

from itertools import product
from pathlib import Path
from sys import argv

from omegaconf import OmegaConf

from twicetold import layout, reporting
from twicetold.errors import readable_errors
from twicetold.files import write_text


def main() -> None:
    if "--help" in argv:
        print(__doc__)
        return
    paths = OmegaConf.load("conf/paths.yaml").paths
    grid = OmegaConf.load("params.yaml")
    students = grid.self_training
    self_trained = [f"{model}-{mining}" for model, mining in product(students.model, students.mining)]
    named = [*product(grid.data, grid.model, grid.seed), *product(students.data, self_trained, grid.seed)]
    cells = [reporting.Cell(*cell) for cell in named]
    runs, target = Path(paths.runs), Path(paths.reports)
    data = {"processed": Path(paths.processed), "raw": Path(paths.raw), "triplets": Path(paths.triplets)}
    with readable_errors():
        if "--show" in argv:
            print(reporting.leaderboard_text(cells, runs))
            return
        reporting.build(cells, runs=runs, target=target, **data)
        # As published, models are shown on data that the results of the full profile describe.
        about_data = grid.profile != "published"
        text = reporting.markdown(cells, runs=runs, about_data=about_data, **data)
        write_text(target / layout.RESULTS, text)
    print(f"report: {target / layout.REPORT}")


if __name__ == "__main__":
    main()

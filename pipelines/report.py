"""Leaderboard and HTML report of every cell that was rendered; `--show` prints the leaderboard instead."""

from pathlib import Path
from sys import argv

from omegaconf import OmegaConf

from twicetold import layout, reporting
from twicetold.errors import readable_errors
from twicetold.files import write_text


def main() -> None:
    paths = OmegaConf.load("conf/paths.yaml").paths
    rendered = Path(paths.rendered, "train")
    configs = [OmegaConf.load(path) for path in sorted(rendered.glob("*.yaml"))]
    cells = [reporting.Cell(c.data.name, c.name, c.seed) for c in configs]
    runs, processed, raw, target = (Path(p) for p in (paths.runs, paths.processed, paths.raw, paths.reports))
    with readable_errors():
        if "--show" in argv:
            print(reporting.leaderboard_text(cells, runs))
            return
        reporting.build(cells, runs=runs, processed=processed, raw=raw, target=target)
        write_text(target / layout.RESULTS, reporting.markdown(cells, runs=runs, processed=processed, raw=raw))
    print(f"report: {target / layout.REPORT}")


if __name__ == "__main__":
    main()

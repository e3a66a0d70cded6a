"""Draw the figure of README.md, docs/images/cost.svg, from files in Git: quality with its interval against cost.

    python tools/cost_picture.py            # `make results` calls it
    python tools/cost_picture.py uci_news   # of other data, whose costs were measured

It is the figure of the report's first page (`pipelines/report.py`), with the report's style sheet within it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse

import report
from twicetold.files import write_text
from twicetold_lab.grid.rows import read_grid
from twicetold_lab.reporting.answers import measure_of
from twicetold_lab.reporting.cost_figure import cost_against_quality
from twicetold_lab.reporting.html import content_of
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.folder import read_runs

DATA = "uci_news"
PICTURE = Path("docs/images/cost.svg")


def main() -> None:
    """Draw and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=DATA, help=f"a dataset of params.yaml; default: {DATA}")
    write_text(PICTURE, picture(parser.parse_args().data))
    print(f"picture: {PICTURE}")


def picture(data: str) -> str:
    """The figure of a dataset as a document that needs nothing else; it follows light and dark.

    Raises:
        SystemExit: if the cost of fewer than two of its models was measured.
    """
    rows, _ = report.without_missing(read_grid(Path()), Path("runs"), ran=())
    grid = report.reported(rows, Path("runs"))
    cells = [cell for cell in grid.cells if cell.data == data and cell not in grid.terms]
    board = rank(data, read_runs(cells, Path("runs"))[data]) if cells else None
    found = cost_against_quality(board, measure_of(board)) if board else None
    if found is None:
        sys.exit(f"error: expected costs of two models of {data} at least, runs/{data}-*/cost.json; run make results")
    style = f"<style><![CDATA[{content_of('style.css')}]]></style>"
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    head, _, body = str(found.drawing).strip().removeprefix("<svg").partition(">")
    return f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"{head}>{style}{paper}{body}\n'


if __name__ == "__main__":
    main()

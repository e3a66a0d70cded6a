"""What the README says of results stands in RESULTS.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADS = {
    "quora_wang": ("AUROC, test", "95 % interval", "Accuracy, test"),
    "uci_news": ("AUROC category, test", "95 % interval", "AUROC story, test"),
}


def tables(text):
    """The rows of each Markdown table, as cells by the name of their column."""
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        heads, _, *rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines()]
        yield heads, [dict(zip(heads, row, strict=True)) for row in rows]


def name_of(cell):
    return re.sub(r"\*\*| \((?:baseline|p)\)", "", cell)


def leaderboard(data):
    section = (ROOT / "RESULTS.md").read_text().split(f"\n## {data}\n")[1]
    _, rows = next(tables(section))
    return {name_of(row["model"]): [row[head].strip("*") for head in HEADS[data]] for row in rows}


def test_the_table_of_results_is_an_extract_of_the_leaderboards():
    section = (ROOT / "README.md").read_text().split("\n## Results\n")[1].split("\n## ")[0]
    heads, rows = next(tables(section))
    assert len(rows) > 5
    boards = {data: leaderboard(data) for data in HEADS}
    for row in rows:
        shown = [row[head] for head in heads[1:]]
        assert shown == [cell for board in boards.values() for cell in board[row["model"].strip("`")]]

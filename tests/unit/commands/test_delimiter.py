"""Files with semicolons, as spreadsheets write them: read, and written alike, by every command that takes a table."""

import csv

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from twicetold.commands import app

TEXTS = ["How do I learn to swim?", "how do I learn to swim", "Where can I buy a tent?", "Who makes good tents?"]
LINES = [f"{number};{text};{number},50" for number, text in enumerate(TEXTS, 1)]
EXCEL = "\n".join(["id;text;price", *LINES, ""])


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with the file, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(EXCEL)
    return tmp_path


def ran(*words, **options):
    done = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert done.exit_code == 0, done.output
    return done


def table(path, separator):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter=separator))


def test_dedupe_reads_semicolons_and_writes_them_and_the_files_beside(there):
    more = ("--links", "links.csv", "--threshold", "0.3")
    ran("dedupe", "in.csv", "--compare", "letters", "-o", "out.csv", *more)
    rows = table(there / "out.csv", ";")
    assert [row["text"] for row in rows] == TEXTS
    assert [row["price"] for row in rows] == ["1,50", "2,50", "3,50", "4,50"]  # as it was
    assert rows[0]["group"] == rows[1]["group"]
    assert {"left", "left_text"} <= set(table(there / "links.csv", ";")[0])
    (there / "links.csv").write_text("left;right;same\n1;2;yes\n")
    ran("dedupe", "in.csv", "--compare", "letters", "-o", "again.csv", "--pairs", "links.csv")


@pytest.mark.parametrize(("asked", "separator"), [("pipe", "|"), ("tab", "\t"), (",", ",")])
def test_the_option_says_otherwise_for_reading_and_writing_alike(there, asked, separator):
    (there / "other.csv").write_text(EXCEL.replace(",", ".").replace(";", separator))
    ran("dedupe", "--compare", "letters", "other.csv", "--format", f"csv:{asked}", "-o", "out.csv")
    assert [row["text"] for row in table(there / "out.csv", separator)] == TEXTS
    pq.write_table(pa.table({"text": TEXTS}), there / "in.parquet")
    ran("dedupe", "--compare", "letters", "in.parquet", "--format", f"csv:{asked}", "-o", "out.csv")
    assert [row["text"] for row in table(there / "out.csv", separator)] == TEXTS


def test_two_columns_of_one_name_in_parquet_are_those_of_csv(there):
    """The texts have one name; what is there twice stays, and cannot be named."""
    pq.write_table(pa.table([TEXTS, TEXTS, TEXTS], names=["text", "note", "note"]), there / "two.parquet")
    ran("dedupe", "--compare", "letters", "two.parquet", "-o", "out.csv")
    with (there / "out.csv").open(encoding="utf-8", newline="") as stream:
        header, first = list(csv.reader(stream))[:2]
    assert (header[:3], first[:3]) == (["text", "note", "note"], [TEXTS[0]] * 3)
    done = CliRunner().invoke(app, ["dedupe", "two.parquet", "--compare", "letters", "--same", "note", "-o", "out.csv"])
    assert (done.exit_code, done.stderr) == (1, "error: two.parquet: the column 'note' is there 2 times\n")


def test_columns_that_options_name_may_be_categories_of_parquet(there):
    """Ids, limits, known groups, what is kept and answers, as pandas writes them."""
    kinds = pd.Categorical(["a", "a", "b", "b"])
    frame = pd.DataFrame({"text": TEXTS, "id": pd.Categorical([11, 12, 13, 14]), "kind": kinds})
    frame["day"] = pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02"] * 2))
    frame.to_parquet(there / "in.parquet")
    answers = pd.DataFrame({"left": [11], "right": [12], "same": pd.Categorical(["yes"])})
    answers.to_parquet(there / "pairs.parquet")
    columns = ("--id", "id", "--same", "kind", "--within", "day:1d", "--truth", "kind", "--keep", "newest:day")
    ran("dedupe", "in.parquet", "--compare", "letters", *columns, "--pairs", "pairs.parquet", "-o", "out.csv")
    assert [row["representative"] for row in table(there / "out.csv", ",")][:2] == ["12", "12"]

"""What commands write never replaces what they read."""

import os
import shutil

import pytest
from typer.testing import CliRunner

from twicetold import layout
from twicetold.commands import app
from twicetold.commands._outputs import beside

TEXTS = "text\nbank rate cut\nbank rate cut film\ndrug trial phone\nBank rate CUT\n"
PAIRS = "left,right,label,same\nbank rate,rate cut,1,1\nfilm star,drug trial,0,0\n"
SPELT = ["in.csv", "./in.csv", "absolute", "folder/in.csv", "soft.csv", "hard.csv"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The current folder, with `in.csv` under several names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "in.csv").write_text(TEXTS)
    (tmp_path / "hard.csv").hardlink_to("in.csv")
    (tmp_path / "soft.csv").symlink_to("in.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def refused(done, what):
    assert done.exit_code == 2, done.output
    assert f"from which the {what} are read: name another file" in done.output
    return True


@pytest.mark.parametrize("spelt", SPELT)
@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("dedupe", "in.csv", "-o", "new.csv", "--links"), "texts"),
        (("dedupe", "in.csv", "-o", "new.csv", "--html"), "texts"),
        (("label", "in.csv", "-o"), "texts"),
    ],
)
def test_a_file_that_is_read_is_not_replaced_however_it_is_spelt(command, what, spelt, place):
    spelt = place / "in.csv" if spelt == "absolute" else spelt
    assert refused(call(*command, spelt), what)
    assert (place / "in.csv").read_text() == TEXTS
    assert sorted(path.name for path in place.iterdir()) == ["folder", "hard.csv", "in.csv", "pairs.csv", "soft.csv"]


@pytest.mark.parametrize("option", ["-o", "--links"])
@pytest.mark.parametrize("file", ["new.xls", "new.json"])
def test_no_table_goes_to_a_file_with_the_suffix_of_something_else(option, file, place):
    done = call("dedupe", "in.csv", "--compare", "letters", option, file)
    assert done.exit_code == 1
    assert f"{file}: expected a file to write that ends in .csv, .tsv" in done.output
    assert not (place / file).exists()


def test_a_file_of_pairs_is_not_replaced(run, place):
    model = run()
    assert refused(call("pairs", model, "pairs.csv", "-o", "pairs.csv"), "pairs")
    (place / "answers.csv").write_text("left,right,same\n1,2,1\n")
    assert refused(call("dedupe", model, "in.csv", "--pairs", "answers.csv", "-o", "answers.csv"), "pairs")
    made = place / "made"
    shutil.copytree(run() / layout.MODEL, made)
    (made / "pairs.csv").write_text(PAIRS)
    assert refused(call("calibrate", model, made / "pairs.csv", "-o", made), "pairs")
    assert (made / "pairs.csv").read_text() == PAIRS


def test_files_of_a_model_and_of_an_index_are_not_replaced(run, place):
    model = place / "model"
    shutil.copytree(run() / layout.MODEL, model)
    recipe = (model / layout.RECIPE).read_bytes()
    assert refused(call("card", model, "-o", model / layout.RECIPE), "weights")
    assert call("card", model, "-o", model / "README.md").exit_code == 0
    assert call("card", model, "-o", model / "README.md").exit_code == 0
    assert (model / layout.RECIPE).read_bytes() == recipe
    assert call("index", "build", model, "in.csv", "-o", "index").exit_code == 0
    inside = next(path for path in (place / "index").rglob("*") if path.is_file() and path.suffix != ".md")
    before = inside.read_bytes()
    assert refused(call("index", "groups", "index", "-o", inside, "--format", "csv"), "texts")
    assert inside.read_bytes() == before


def test_standard_input_may_be_a_file_that_is_not_replaced(process, place):
    with (place / "in.csv").open() as given:
        done = process("dedupe", "-", "--format", "csv", "-o", "soft.csv", stdin=given)
    assert done.returncode == 2
    assert "from which the texts are read" in " ".join(done.stderr.split())
    assert (place / "in.csv").read_text() == TEXTS


def test_another_file_of_the_same_content_and_devices_are_no_input(place):
    shutil.copy(place / "in.csv", place / "copy.csv")
    assert call("dedupe", "in.csv", "-o", "copy.csv").exit_code == 0
    assert call("dedupe", "in.csv", "-o", os.devnull, "--format", "csv").exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        "dedupe a.csv -o new/b.csv",
        "dedupe a.csv -o b.csv --html new/b.html",
        "dedupe a.csv -o b.csv --links new/b.csv",
        "link a.csv c.csv -o new/b.csv",
        "ask a.csv -o new/b.csv",
        "label a.csv -o new/b.csv",
        "pairs model a.csv -o new/b.csv",
        "index groups faq -o new/b.csv",
    ],
)
def test_a_file_in_a_folder_that_is_not_there_is_refused_before_any_work(line, twicetold, tmp_path):
    done = twicetold(*line.split())
    assert done.returncode == 2
    assert "there is no folder new: make it first" in " ".join(done.stderr.replace("│", " ").split())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("out", "dropped"),
    [
        ("unique.csv", "unique.dropped.csv"),
        ("a/unique.v2.csv", "a/unique.v2.dropped.csv"),
        ("unique.csv.gz", "unique.dropped.csv.gz"),
        ("unique.JSONL.zst", "unique.dropped.JSONL.zst"),
        ("unique.parquet", "unique.dropped.parquet"),
        ("unique", "unique.dropped"),
        ("-", None),
        ("/dev/null", None),
        ("/dev/stdout", None),
    ],
)
def test_dropped_rows_lie_beside_the_output_where_it_is_a_file(out, dropped):
    assert beside(out) == dropped
    assert beside(out, "bad") == (dropped and dropped.replace("dropped", "bad"))

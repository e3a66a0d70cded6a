"""`twicetold index` and `twicetold search`."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold.commands import app
from twicetold.index import open_index

ROWS = ["a,bank rate cut", "b,bank rate cut film", "c,star award", "d,drug trial phone", "e,game vote"]
MORE = ["f,bank rate cut", "g,vote award"]


@pytest.fixture
def files(tmp_path):
    """`rows.csv` and `more.csv`, with ids."""
    (tmp_path / "rows.csv").write_text("\n".join(["id,text", *ROWS]) + "\n")
    (tmp_path / "more.csv").write_text("\n".join(["id,text", *MORE]) + "\n")
    return tmp_path


def test_an_index_is_built_searched_grown_and_described(run, twicetold, files):
    built = twicetold("index", "build", run(), "rows.csv", "-o", "faq", "--id", "id", "--threshold", "0.9")
    assert (built.returncode, built.stdout) == (0, ""), built.stderr
    assert "texts      5" in built.stderr
    added = json.loads(twicetold("index", "add", "faq", "more.csv", "--id", "id", "--json").stdout)
    assert [row["id"] for row in added["added"]] == ["f", "g"]
    index = open_index(files / "faq")
    assert index.groups.tolist()[index.ids.index("f")] == index.groups.tolist()[index.ids.index("a")]
    done = twicetold("search", "faq", "bank rate cut", "-k", "2")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[3] for line in lines] == ["a", "f"]
    assert lines[0][4] == "bank rate cut"
    assert done.stderr == ""
    removed = twicetold("index", "remove", "faq", "a", "g")
    assert (removed.returncode, removed.stdout) == (0, "")
    assert removed.stderr == "removed 2 texts; faq has 5 now\n"
    info = json.loads(twicetold("index", "info", "faq", "--json").stdout)
    assert (info["texts"], info["model"]) == (5, str(files / "questions-tfidf-0/model"))
    assert info["probability"] == pytest.approx(0.9)
    assert twicetold("index", "info", "faq").stdout.startswith("texts      5 (")


def test_an_index_by_a_model_without_labels_has_the_probabilities_of_the_matcher(twicetold, files):
    texts = [
        f"the {place} bank cut its {rate} rate" for place in ("old", "new", "far") for rate in ("key", "top", "low")
    ]
    (files / "texts.csv").write_text("\n".join(["text", *texts, texts[0] + " again"]) + "\n")
    drawn = twicetold("label", "texts.csv", "--compare", "letters", "-o", "drawn.csv", input="q\n")
    assert drawn.returncode == 0, drawn.stderr
    built = twicetold("index", "build", "drawn.csv.model", "texts.csv", "-o", "faq")
    assert built.returncode == 0, built.stderr
    about = twicetold("index", "info", "faq").stdout
    assert "links from probability 0.500 or more" in about
    first, other = twicetold("search", "faq", texts[0], "-k", "2").stdout.splitlines()
    assert first.split("\t")[1] == "1.0000"
    assert 0 < float(other.split("\t")[1]) < 1
    (found,) = twicetold("search", "faq", texts[0], "-k", "1", "--json").stdout.splitlines()
    assert json.loads(found)["matches"][0]["probability"] == 1.0
    assert json.loads(twicetold("index", "info", "faq", "--json").stdout)["probability"] == 0.5


def test_searches_from_a_file_or_a_pipe_are_json_lines_in_its_order(run, twicetold, files):
    twicetold("index", "build", run("static"), "rows.csv", "-o", "faq")
    found = library.load(run("static")).index([row.split(",")[1] for row in ROWS]).search(["vote", "star"], 2)
    for arguments, options in (
        (("-f", "asked.csv"), {}),
        (("-f", "-", "--format", "csv"), {"input": "text\nvote\nstar\n"}),
        (("vote", "star"), {}),
    ):
        (files / "asked.csv").write_text("text\nvote\nstar\n")
        done = twicetold("search", "faq", *arguments, "-k", "2", "--json", **options)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert [line["query"] for line in lines] == ["vote", "star"], done.stderr
        assert [[m["id"] for m in line["matches"]] for line in lines] == [[m.id for m in each] for each in found]


def test_changes_of_groups_are_told_and_groups_are_written(run, twicetold, files):
    (files / "rows.csv").write_text("text\nbank rate\nfilm star\ndrug trial\ngame vote\n")
    (files / "more.csv").write_text("text\nbank rate film star\n")
    twicetold("index", "build", run(), "rows.csv", "-o", "faq", "--threshold", "0.7", "--rule", "components")
    added = json.loads(twicetold("index", "add", "faq", "more.csv", "--json").stdout)
    assert (added["merged"], added["split"], added["moved"]) == ([{"group": 1, "into": 0}], [], 1)
    assert json.loads(twicetold("index", "info", "faq", "--json").stdout)["rule"] == "components"
    written = twicetold("index", "groups", "faq", "-o", "groups.csv")
    assert written.stderr == "groups.csv: 5 rows\n"
    lines = (files / "groups.csv").read_text().splitlines()
    assert lines == ["id,text,group", "0,bank rate,0", "1,film star,0", "4,bank rate film star,0", *lines[4:]]
    assert lines[4:] == ["2,drug trial,2", "3,game vote,3"]
    assert twicetold("index", "groups", "faq").stdout.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("index", "groups", "faq", "-o", "out.csv"), 1, "no index in faq"),
        (("search", "faq", "bank"), 1, "no index in faq"),
        (("index", "build", "nothing", "rows.csv", "-o", "faq"), 1, "no trained model in nothing"),
        (("index", "build", "nothing", "rows.csv", "-o", "."), 1, "expected a new folder"),
        (
            ("index", "build", "no", "rows.csv", "-o", "faq", "--rule", "none", "--threshold", "0.5"),
            2,
            "say how to group",
        ),
        (("search", "faq"), 2, "give texts"),
        (("search", "faq", "a", "-k", "0"), 2, "or equal to 1"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_message(arguments, code, message, files, monkeypatch):
    monkeypatch.chdir(files)
    done = CliRunner().invoke(app, list(arguments))
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr
    assert sorted(path.name for path in files.iterdir()) == ["more.csv", "rows.csv"]


def test_ids_of_files_may_be_numbers_and_none_may_be_missing(run, twicetold, files):
    table = pa.table({"id": [1, 2, 3], "text": ["bank rate", "film star", "drug trial"]})
    pq.write_table(table, files / "rows.parquet")
    twicetold("index", "build", run(), "rows.parquet", "-o", "faq", "--id", "id")
    for ids, message in (
        ([[4], [5]], "expected ids that are texts or numbers, got list"),
        ([4.0, float("nan")], "expected an id in each row, got none in row 2"),
        (["x", " "], "expected an id in each row, got none in row 2"),
    ):
        pq.write_table(pa.table({"id": ids, "text": ["vote game", "star award"]}), files / "rows.parquet")
        done = twicetold("index", "add", "faq", "rows.parquet", "--id", "id")
        assert (done.returncode, f"rows.parquet: column 'id': {message}" in done.stderr) == (1, True), done.stderr
    assert open_index(files / "faq").ids == ["1", "2", "3"]


# Kills: a driver imports everything once and forks. Each child adds a file as the command does, and is killed.
DRIVER = """
import json, os, pathlib, signal, sys
from twicetold import load
from twicetold.index import open_index
from twicetold.commands import app

folder = pathlib.Path(sys.argv[1])
model = load(open_index(folder).model.folder)
CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "os.chmod", "os.listdir")


def child(number, at):
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event in CHANGES and any(str(folder) in str(each) for each in arguments[:2]):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    file = folder.parent / f"new{number}.csv"
    try:
        app(["index", "add", str(folder), str(file), "--id", "id"], standalone_mode=False)
    finally:
        os._exit(0)


def attempt(number, at):
    file = folder.parent / f"new{number}.csv"
    file.write_text("id,text\\n" + "".join(f"{number}-{row},bank vote {row}\\n" for row in range(1 + number % 4)))
    pid = os.fork()
    if pid == 0:
        child(number, at)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def state():
    return set(open_index(folder, model).ids)


killed = kept = number = 0
was_killed = True
while was_killed:
    number += 1
    former, new = state(), {f"{number}-{row}" for row in range(1 + number % 4)}
    was_killed = attempt(number, number)
    now = state()
    assert now in (former, former | new), (now ^ former, new)
    killed += was_killed
    kept += was_killed and now != former
print(json.dumps({"killed": killed, "kept": kept, "names": sorted(path.name for path in folder.iterdir())}))
"""


def test_a_kill_at_any_step_on_files_leaves_the_former_index_or_the_new_one(run, twicetold, files, environment):
    """The n-th child is killed at the n-th step, until one has no such step."""
    assert twicetold("index", "build", run(), "rows.csv", "-o", "faq", "--id", "id").returncode == 0
    line = [sys.executable, "-c", DRIVER, str(files / "faq")]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    found, manifest = json.loads(done.stdout), json.loads((files / "faq/index.json").read_text())
    assert set(found["names"]) - {"index.json"} == {part["name"] for part in manifest["parts"]}
    assert found["killed"] > 10
    assert 0 < found["kept"] < found["killed"]


def test_without_a_model_a_build_has_the_groups_of_a_dedupe_and_the_index_holds_its_model(twicetold, files):
    rows = ["id,text", "a,red shoe 42", "b,Red shoes (42)", "c,red shoe 43", "d,RED SHOE 42", "e,a tent"]
    (files / "shoes.csv").write_text("\n".join(rows) + "\n")
    built = twicetold("index", "build", "shoes.csv", "-o", "shoes", "--id", "id", "--json")
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["model"] == "shoes/model"
    deduped = twicetold("dedupe", "shoes.csv", "--format", "jsonl").stdout.splitlines()
    expected = [json.loads(line)["group"] for line in deduped]
    (files / "shoes").rename(files / "moved")
    assert twicetold("index", "groups", "moved", "-o", "groups.jsonl").returncode == 0
    groups = {row["id"]: row["group"] for row in map(json.loads, (files / "groups.jsonl").read_text().splitlines())}
    assert [groups[name] for name in "abcde"] == expected
    (files / "more.csv").write_text("id,text\nf,A tent\n")
    assert twicetold("index", "add", "moved", "more.csv", "--id", "id").returncode == 0
    assert twicetold("search", "moved", "tents", "-k", "1").stdout.split("\t")[3:] == ["e", "a tent\n"]

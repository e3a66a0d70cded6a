"""`twicetold dedupe --compare` and `--truth`."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit
from typer.testing import CliRunner

import twicetold as library
from twicetold import layout
from twicetold.commands import app
from twicetold.labels.labelling import read_labelling
from twicetold.matching.comparison import Comparison
from twicetold.tables.vectors import unit_rows

TEXTS = ["bank rate", "rate cut", "drug trial", "phone chip", "trial drug", "a film"]
STORY = ["bank", "bank", "drug", "chip", "drug", ""]
ANGLES = np.array([0.0, 0.2, 1.4, 3.0, 1.5, 4.0])
COSINE = "cosine.json"  # a decision file: groups are by the cosine alone
VECTORS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1) * np.arange(1, 7)[:, None]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same texts and vectors in every form."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    np.save("v.npy", VECTORS)
    decision = {"threshold": 0.6, "slope": 10.0, "intercept": -6.0}
    stored = {"pairs": {"file": "pairs.csv", "count": 20}, "about": "meaning", "decision": decision}
    (tmp_path / COSINE).write_text(json.dumps({"calibration": stored}))
    table = pa.table({"text": TEXTS, "story": STORY, "v": VECTORS.tolist()})
    pq.write_table(table, "in.parquet")
    rows = table.to_pylist()
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (tmp_path / "in.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, table.column_names)
        writer.writeheader()
        writer.writerows({**row, "v": json.dumps(row["v"])} for row in rows)
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(app, ["dedupe", *map(str, arguments)])


@pytest.mark.parametrize(
    ("file", "vectors"),
    [("in.csv", "v.npy"), ("in.csv", "v"), ("in.jsonl", "v"), ("in.parquet", "v"), ("in.parquet", "./v.npy")],
)
def test_groups_by_a_decision_file_are_those_of_the_cosines(file, vectors, files):
    done = call(COSINE, file, "--compare", vectors, "--threshold", "0.9", "-o", "out.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    found = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert [int(row["group"]) for row in found] == [0, 0, 1, 2, 1, 3]
    cosine = float(np.cos(ANGLES[1] - ANGLES[0]))
    assert float(found[1]["probability_to_representative"]) == round(float(expit(10 * cosine - 6)), 4)
    summary = json.loads(done.stdout)
    assert (summary["calibrated"], summary["chosen_for"], summary["agreement"]) == (True, "user", None)
    for given in (VECTORS, VECTORS.tolist(), "v.npy", lambda texts: VECTORS[: len(texts)]):
        model = library.fit(TEXTS, vectors=given, decision=COSINE)
        assert model.dedupe(TEXTS, threshold=0.9).group.tolist() == [0, 0, 1, 2, 1, 3]


@pytest.mark.parametrize("vectors", ["v.npy", "v"])
def test_without_one_the_matcher_takes_the_vectors(vectors, files):
    compared = Comparison.of(TEXTS, encode=lambda _, order: unit_rows(VECTORS, count=6)[order])
    expected = compared.groups(cut=0.05).tolist()
    done = call("in.jsonl", "--compare", vectors, "--threshold", "0.05", "-o", "out.jsonl", "--links", "links.csv")
    assert done.exit_code == 0, done.stderr
    found = [json.loads(line)["group"] for line in (files / "out.jsonl").read_text().splitlines()]
    assert [found.index(each) for each in found] == [expected.index(each) for each in expected]
    assert len(set(found)) < len(found)
    probability = float(rows["probability"]) if (rows := next(csv.DictReader((files / "links.csv").open()))) else 0
    ends = np.array([int(rows["left"]) - 1]), np.array([int(rows["right"]) - 1])
    assert probability == pytest.approx(compared.probability[compared.candidate(*ends)[0]], abs=1e-4)
    done = CliRunner().invoke(app, ["ask", "in.jsonl", "--compare", vectors, "-n", "1"], input="y\n")
    assert "1 of 1 pair answered" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--compare", "nowhere.npy"], 1, "there is no file nowhere.npy"),
        (["--compare", "w"], 1, "expected letters, a .npy file, a folder of model2vec, or a column of in.csv"),
        (["--compare", "text"], 1, "column 'text': expected lists of numbers, such as [0.1, -0.2]; got 'bank rate' in"),
        (
            ["--compare", "gap"],
            1,
            "column 'gap': expected lists of numbers, such as [0.1, -0.2]; got no value in line 3",
        ),
        (["--compare", "."], 1, "there are no tokenizer.json and model.safetensors"),
        (["--compare", "short.npy"], 1, "short.npy: expected a row for each of 6 texts, got 5 rows"),
        (["--compare", "nan.npy"], 1, "nan.npy: expected vectors of finite numbers that are not all 0; got NaN"),
        (["--compare", "pickled.npy"], 1, "pickled.npy: expected numbers, got Python objects"),
        (["--truth", "stories"], 1, "there is no column 'stories'. Did you mean 'story'?"),
        (["--truth", "text"], 1, "truth: expected at least two groups, and one of two or more rows"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_written(options, code, message, files):
    lines = (files / "in.csv").read_text().splitlines()
    gaps = ['"[1, 2]"', "", *['"[2, 1]"'] * 4]
    (files / "in.csv").write_text("\n".join([f"{lines[0]},gap", *map(",".join, zip(lines[1:], gaps))]) + "\n")
    np.save("short.npy", VECTORS[:5])
    np.save("nan.npy", np.where(VECTORS[2] == VECTORS, np.nan, VECTORS))
    np.save("pickled.npy", np.array([{}], object), allow_pickle=True)
    done = call("in.csv", *options, "-o", "out.csv")
    assert done.exit_code == code
    assert message in " ".join(done.stderr.split())
    assert not (files / "out.csv").exists()


def test_a_column_and_a_folder_of_one_name_are_told_apart(files):
    (files / "v").mkdir()
    done = call("in.csv", "--compare", "v", "-o", "out.csv")
    assert "there are a folder and a column of this name: give the folder as ./v" in done.stderr
    assert "there are no tokenizer.json" in call("in.csv", "--compare", "./v", "-o", "out.csv").stderr


def test_agreement_with_known_groups_is_said_with_intervals(files):
    options = ("--compare", "v.npy", "--threshold", "0.9", "--truth", "story", "-o", "out.csv")
    done = call(COSINE, "in.csv", *options)
    assert "beside the known groups of 5 rows, 2 groups of two or more with 2 pairs" in done.stderr
    assert "  1.000 (1.000 to 1.000)  ARI of groups" in done.stderr
    found = json.loads(call(COSINE, "in.csv", *options, "--json").stdout)["agreement"]
    assert (found["rows"], found["groups"], found["pairs"]) == (5, 2, 2)
    assert found["measures"]["b3"]["value"] == pytest.approx(1)


def test_a_folder_of_model2vec_gives_the_groups_of_its_vectors_and_leads_to_a_promise(
    questions, tiny_static, tmp_path, monkeypatch
):
    """Any text can be compared, so pairs can be labelled, and the model calibrated, without the folder."""
    monkeypatch.chdir(tmp_path)
    texts = [f"{text} {n}" for n, text in enumerate(questions.texts.to_pylist())]
    (tmp_path / "in.csv").write_text("\n".join(["text", *texts]) + "\n")
    model = library.fit(texts, vectors=tiny_static)
    np.save("v.npy", model.encode(texts))
    for file, source in (("folder.csv", tiny_static), ("matrix.csv", "v.npy")):
        assert call("in.csv", "--compare", source, "--threshold", "0.4", "-o", file).exit_code == 0
    assert (tmp_path / "folder.csv").read_text().count("\n") == len(texts) + 1
    columns = [[row["group"] for row in csv.DictReader((tmp_path / f).open())] for f in ("folder.csv", "matrix.csv")]
    assert columns[0] == columns[1]
    assert 1 < len(set(columns[0])) < len(texts)
    line = ["label", "in.csv", "--compare", str(tiny_static), "-o", "pairs.csv", "-n", "60"]
    assert CliRunner().invoke(app, line, input="").exit_code == 0
    score = [pair.score for pair in read_labelling(tmp_path / "pairs.csv").pairs]
    answers = "".join("y\n" if each > np.median(score) else "n\n" for each in score)
    done = CliRunner().invoke(app, line, input=answers)
    assert done.exit_code == 0, done.stderr
    recipe = json.loads((tmp_path / "pairs.csv.model" / layout.RECIPE).read_text())
    assert (recipe["pretrained_on"], recipe["seen"]) == ([f"vectors of {tiny_static.name}"], None)
    recipes = (tmp_path / "pairs.csv.model").rglob(layout.RECIPE)
    assert all(str(tiny_static.parent) not in each.read_text() for each in recipes)
    done = CliRunner().invoke(app, ["calibrate", "pairs.csv.model", "pairs.csv", "-o", "new"])
    assert done.exit_code == 0, done.stderr
    assert call("new", "in.csv", "-o", "out.csv").exit_code == 0


def test_texts_without_vectors_are_named(files):
    model = library.fit(TEXTS, vectors=VECTORS)
    with pytest.raises(ValueError, match="there is no vector for the text 'another'"):
        model.similarity(["bank rate"], ["another"])
    with pytest.raises(ValueError, match="make no model that can be saved: give a folder of model2vec"):
        library.fit(TEXTS, vectors=VECTORS, folder=files / "model")
    with pytest.raises(ValueError, match="not both"):
        library.fit(TEXTS, vectors=VECTORS, lexical=True)
    with pytest.raises(ValueError, match="a decision file is for vectors of these texts"):
        library.fit(TEXTS, decision=COSINE)

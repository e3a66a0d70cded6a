"""The decision file of vectors that were made elsewhere, and the block of the guide that applies it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import twicetold
from twicetold.commands import app
from twicetold.labels.calibration import read_pairs
from twicetold.labels.decision_file import decision_file
from twicetold.labels.labelling import read_labelling

GUIDE = Path(__file__).parents[3] / "docs/guides/labels-of-your-own.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts of two or three spellings with vectors, and labelled pairs of them."""
    folder, random = tmp_path_factory.mktemp("vectors"), np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("lon", "tir", "mas")]
    names = list(dict.fromkeys(" ".join(random.choice(words, 3, replace=False)) for _ in range(150)))
    texts = [f"{name} {end}" for name in names for end in ("one", "two", "six")[: random.integers(2, 4)]]
    known = {name: random.normal(size=64) for name in names}
    vectors = np.array([known[text[:-4]] + random.normal(size=64, scale=0.4) for text in texts])
    np.save(folder / "mine.npy", vectors)
    pq.write_table(pa.table({"text": texts, "mine": vectors.tolist()}), folder / "texts.parquet")
    (folder / "texts.csv").write_text("\n".join(["text", *texts]))
    label = ["label", str(folder / "texts.parquet"), "--compare", "mine", "-o", str(folder / "pairs.csv"), "-n", "150"]
    called(*label)
    pairs = read_labelling(folder / "pairs.csv").pairs
    answers = "".join("y\n" if pair.left[:-4] == pair.right[:-4] else "n\n" for pair in pairs)
    called(*label, input=answers)
    done = called("calibrate", str(folder / "pairs.csv"), "-o", str(folder / "decision.json"))
    assert "precision expected" in done.stderr
    return folder


def called(*arguments, input=""):
    done = CliRunner().invoke(app, arguments, input=input)
    assert done.exit_code == 0, done.output
    return done


def test_labels_of_own_vectors_give_a_decision_that_the_block_of_the_guide_applies(folder, monkeypatch):
    monkeypatch.chdir(folder)
    section = GUIDE.read_text().split("## Vectors of your own")[1].split("\n## ")[0]
    [apply] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert "twicetold" not in apply
    exec(apply, made := {})
    decision = json.loads(Path("decision.json").read_text())
    assert decision["rests_on"]["labels"] == 150
    assert decision["rests_on"]["file"] == "texts.parquet"
    expected = next(each["expected"] for each in decision["thresholds"] if each["precision"] == 0.9)
    assert 0 < expected["low"] < expected["value"] <= expected["high"] <= 1
    texts = Path("texts.csv").read_text().splitlines()[1:]
    right = [texts[left][:-4] == texts[right][:-4] for left, right, _ in made["links"]]
    assert len(right) > 100
    assert np.mean(right) > 0.85
    assert all(0 <= probability <= 1 for *_, probability in made["links"])


def test_a_decision_is_refused_for_other_vectors_than_its_own_and_taken_for_other_texts(folder):
    texts, vectors = (folder / "texts.csv").read_text().splitlines()[1:], np.load(folder / "mine.npy")
    decision = folder / "decision.json"
    random = np.random.default_rng(1).normal(size=vectors.shape)
    with pytest.raises(ValueError, match="the cosines of labelled pairs among the texts differ by"):
        twicetold.fit(texts, vectors=random, decision=decision)
    with pytest.raises(ValueError, match="expected 64 numbers of a vector, got 63"):
        twicetold.fit(texts, vectors=vectors[:, 1:], decision=decision)
    twicetold.fit(texts, vectors=vectors.astype(np.float16), decision=decision)
    twicetold.fit([f"{text} of another file" for text in texts], vectors=random, decision=decision)


def test_a_decision_file_is_replaced_with_force_alone(folder):
    before = (folder / "decision.json").read_bytes()
    line = ["calibrate", str(folder / "pairs.csv"), "-o", str(folder / "decision.json")]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 1
    assert "replace it with --force" in done.stderr
    assert (folder / "decision.json").read_bytes() == before
    called(*line, "--force")


def test_a_dedupe_by_the_decision_file_keeps_the_precision_that_the_labels_assure(folder):
    texts, vectors = (folder / "texts.csv").read_text().splitlines()[1:], np.load(folder / "mine.npy")
    place = {text: row for row, text in enumerate(texts)}
    model = twicetold.fit(
        texts, vectors=lambda some: vectors[[place[each] for each in some]], decision=folder / "decision.json"
    )
    found = model.dedupe(texts, precision=0.9)
    right = [texts[left][:-4] == texts[right][:-4] for left, right in zip(found.links.left, found.links.right)]
    assert np.mean(right) >= 0.9
    threshold = found.summary.threshold
    assert (threshold.calibrated, threshold.assured) == (True, True)
    assert threshold.expected.low <= np.mean(right) <= threshold.expected.high
    files = (str(folder / name) for name in ("decision.json", "texts.csv", "out.csv", "mine.npy"))
    decision, file, out, mine = files
    done = called("dedupe", decision, file, "--compare", mine, "--precision", "0.9", "-o", out)
    assert "rest on 150 labelled pairs, drawn from the" in done.stderr
    groups = [row.rsplit(",", 3)[1] for row in Path(out).read_text().splitlines()[1:]]
    assert groups == [str(number) for number in found.group]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dedupe", "decision.json", "texts.csv"], "says what a cosine means: give the vectors with --compare"),
        (["dedupe", "pairs.csv.draw.json", "texts.csv", "--compare", "mine.npy"], "calibrate writes for vectors"),
        (["calibrate", "pairs.csv", "-o", "model"], "expected a model before the pairs"),
        (["calibrate", "texts.csv", "pairs.csv", "more", "-o", "model"], "expected [MODEL] FILE, got 3"),
    ],
)
def test_other_files_are_refused(arguments, message, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "300")
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code
    assert message in " ".join(done.output.split())


def test_distances_and_too_few_labels_are_refused(folder):
    pairs = read_pairs(folder / "pairs.csv")
    with pytest.raises(ValueError, match="give similarities, not distances"):
        decision_file(replace(pairs, label=~pairs.label))
    with pytest.raises(ValueError, match="label drew by vectors of your own"):
        decision_file(replace(pairs, draw=None))
    with pytest.raises(ValueError, match="at least 20 labelled pairs"):
        decision_file(replace(pairs, label=pairs.label[:4]))

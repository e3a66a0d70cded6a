"""The decision file of vectors that were made elsewhere, and the block of the guide that applies it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

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
    (folder / "texts.csv").write_text("\n".join(["text", *texts]))
    label = ["label", str(folder / "texts.csv"), "--compare", str(folder / "mine.npy"), "-o", str(folder / "pairs.csv")]
    drawn = CliRunner().invoke(app, [*label, "-n", "150"], input="")
    assert drawn.exit_code == 0, drawn.output
    pairs = read_labelling(folder / "pairs.csv").pairs
    answers = "".join("y\n" if pair.left[:-4] == pair.right[:-4] else "n\n" for pair in pairs)
    done = CliRunner().invoke(app, [*label, "--decision", str(folder / "decision.json")], input=answers)
    assert done.exit_code == 0, done.output
    return folder


def test_labels_of_own_vectors_give_a_decision_that_the_block_of_the_guide_applies(folder, monkeypatch):
    monkeypatch.chdir(folder)
    section = GUIDE.read_text().split("## Vectors of your own")[1].split("\n## ")[0]
    [apply] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert "twicetold" not in apply
    exec(apply, made := {})
    decision = json.loads(Path("decision.json").read_text())
    assert decision["rests_on"]["labels"] == 150
    assert decision["rests_on"]["file"] == "texts.csv"
    expected = next(each["expected"] for each in decision["thresholds"] if each["precision"] == 0.9)
    assert 0 < expected["low"] < expected["value"] <= expected["high"] <= 1
    texts = Path("texts.csv").read_text().splitlines()[1:]
    right = [texts[left][:-4] == texts[right][:-4] for left, right, _ in made["links"]]
    assert len(right) > 100
    assert np.mean(right) > 0.85
    assert all(0 <= probability <= 1 for *_, probability in made["links"])


def test_the_curve_rises_and_lies_in_its_interval(folder):
    pairs = read_pairs(folder / "pairs.csv")
    score = pairs.label + np.random.default_rng(0).normal(size=len(pairs.label))
    curve = decision_file(pairs, score)["curve"]
    assert (np.diff([point["probability"] for point in curve]) >= 0).all()
    assert all(0 <= point["low"] <= point["probability"] <= point["high"] <= 1 for point in curve)


def test_distances_and_too_few_labels_are_refused(folder):
    pairs = read_pairs(folder / "pairs.csv")
    with pytest.raises(ValueError, match="give similarities, not distances"):
        decision_file(pairs, -pairs.label.astype(float))
    with pytest.raises(ValueError, match="a score for each of 150 pairs"):
        decision_file(pairs, np.zeros(3))
    with pytest.raises(ValueError, match="drawn by a similarity, with their draw beside them"):
        decision_file(replace(pairs, draw=None))
    with pytest.raises(ValueError, match="at least 20 labelled pairs"):
        decision_file(replace(pairs, label=pairs.label[:4]), np.zeros(4))

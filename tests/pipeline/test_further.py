"""Pairs of another dataset beside a dataset's own: by hand, and in the pipeline."""

import json

import pytest

QUESTIONS = "toy_questions"
PAIRS = [("it rains", "rain falls", 1), ("it rains", "the sun shines", 0)]
SOURCE = {"path": "mine.csv", "left": "a", "right": "b", "label": "same", "split": "disjoint"}
FURTHER = ["+data@data.further=pairs", *(f"data.further.source.{key}={value}" for key, value in SOURCE.items())]


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    lab = finished.copy(tmp_path_factory.mktemp("further") / "lab")
    rows = [(f"{left} {day}", f"{right} {day}", same) for day in range(40) for left, right, same in PAIRS]
    (lab.root / "mine.csv").write_text("a,b,same\n" + "".join(f"{a},{b},{same}\n" for a, b, same in rows))
    return lab


def card(lab):
    return json.loads((lab.root / "data" / "processed" / QUESTIONS / "card.json").read_text())["card"]


def test_in_the_grid_they_are_prepared_and_trained_on_and_the_report_says_so(lab, cells):
    lab.grid(data=[QUESTIONS], model=["tfidf", "static"], overrides=["tracking=off", *FURTHER])
    data = {f"{stage}@{QUESTIONS}" for stage in ("download", "prepare", "mine")}
    trained = cells("train evaluate", data=[QUESTIONS], model=["tfidf", "static"])
    assert {"compose", *data, *trained, "report"} == set(lab.ran())
    assert card(lab)["further_pairs"]["pairs"] == 64
    assert "Further pairs of" in (lab.root / "reports" / "index.html").read_text()
    assert lab.ran() == []


def test_by_hand_they_come_and_go_with_the_override(lab):
    train = ["python", "pipelines/train.py", f"data={QUESTIONS}", "profile=smoke", "tracking=off", "model=static"]
    train.append("hydra.run.dir=runs/by-hand")
    lab.run(*train)
    assert "further_pairs" not in card(lab)
    lab.run(*train, *FURTHER)
    assert card(lab)["further_pairs"]["pairs"] == 64
    made = (lab.root / "data" / "processed" / QUESTIONS / "card.json").stat().st_mtime_ns
    lab.run(*train, *FURTHER)
    assert (lab.root / "data" / "processed" / QUESTIONS / "card.json").stat().st_mtime_ns == made


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+data@data.further=toy_news", "further pairs are for pairs, but toy_news is of documents"),
        ("data.further=nli", "say +data@data.further=nli"),
        ("+data@data.further=nil", "Could not find 'data/nil'"),
    ],
)
def test_what_are_no_further_pairs_is_refused(lab, override, message):
    code, out = lab.attempt("python", "pipelines/prepare.py", f"data={QUESTIONS}", override)
    assert code != 0
    assert message in out

"""Stages by hand, one after another with other settings: what an earlier run left does not pass for another."""

import json
import re

import pytest

from twicetold_lab.runs.environment import processor
from twicetold_lab.runs.folder import RunFolder

ROWS = 60
SOURCE = ("data=documents", "data.source.path=news.csv", "data.source.text=headline", "data.source.category=topic")
OTHER_SPLIT = "data.source.seed=7"


@pytest.fixture(scope="module")
def lab(finished, tmp_path_factory):
    """The project, and a table of one's own."""
    lab = finished.copy(tmp_path_factory.mktemp("by_hand") / "lab")
    topics, words = ("court", "match", "phone"), ("judge", "rules", "new", "old", "wins", "loses", "late")
    rows = [
        f"the {words[n % 7]} {topics[n % 3]} of {words[n % 5]} number {n},{topics[n % 3]},{n // 2}" for n in range(ROWS)
    ]
    (lab.root / "news.csv").write_text("\n".join(["headline,topic,story", *rows]) + "\n")
    return lab


def command(stage, *overrides):
    run = (*SOURCE, "data.source.story=story", "model=tfidf", "tracking.enabled=false", "hydra.run.dir=runs/mine")
    return (stage, *run, *overrides)


def with_triplets(*overrides):
    """A training that reads triplets."""
    run = ("model=static", "profile=smoke", "trainer.epochs=1", "hydra.run.dir=runs/static")
    return ("train", *SOURCE, "data.source.story=story", "tracking.enabled=false", *run, *overrides)


def cards(lab):
    return [json.loads(path.read_text()) for path in sorted((lab.root / "data/triplets/documents").glob("*.card.json"))]


def test_a_model_is_evaluated_where_it_is_and_with_the_settings_that_it_was_trained_with(lab):
    trained, evaluated, elsewhere = lab.scripts(
        command("train"),
        command("evaluate", "evaluator.splits=[val,test,train]"),
        command("evaluate", "hydra.run.dir=runs/another"),
    )
    assert trained[0] == evaluated[0] == 0
    assert "the model is in runs/mine/model" in trained[1]
    assert elsewhere[0] != 0
    assert "hydra.run.dir=<folder>" in elsewhere[1]
    metrics = json.loads((lab.root / "runs/mine/metrics.json").read_text())
    over_all_pairs = {f"{name}_{group}" for name in ("auroc", "average_precision") for group in ("category", "story")}
    assert set(metrics["train"]) == over_all_pairs <= set(metrics["test"])
    assert "story (train)" in (lab.root / "runs/mine/roc.csv").read_text()

    retrained, otherwise = lab.scripts(command("train", "features.max_features=3"), command("evaluate"))
    assert retrained[0] == 0
    assert "triplets by" not in trained[1] + retrained[1]
    assert not (lab.root / "data/triplets/documents").exists(), "a lexical family reads none"
    left = {path.name for path in (lab.root / "runs/mine").iterdir() if path.suffix != ".log"}
    assert left == {".hydra", "model", "observed.json", "trained"}, (
        "a model that takes the place of another is not yet evaluated"
    )
    assert otherwise[0] != 0
    assert "runs/mine/trained was trained with other features than this command has" in otherwise[1]


def test_another_split_or_label_is_noticed(lab):
    """What was trained on another split is not evaluated, and triplets of another split or label are chosen anew."""
    mined, again = lab.scripts(with_triplets(), with_triplets())
    assert mined[0] == again[0] == 0, mined[1]
    assert "triplets by random" in mined[1]
    assert "triplets by" not in again[1], "they are those of the first training"
    first = cards(lab)
    evaluated, prepared, other, trained = lab.scripts(
        command("evaluate", "features.max_features=3"),
        ("prepare", *SOURCE, "data.source.story=story", OTHER_SPLIT),  # and then an interrupt
        command("evaluate", "features.max_features=3"),
        with_triplets(OTHER_SPLIT),
    )
    assert evaluated[0] == prepared[0] == trained[0] == 0
    assert other[0] != 0
    assert "was trained on other train texts (documents) than documents has now" in other[1]
    assert "triplets by random" in trained[1]
    assert not {card["train"] for card in first} & {card["train"] for card in cards(lab)}
    ((code, _),) = lab.scripts(with_triplets(OTHER_SPLIT, "data.label=story"))
    assert code == 0
    assert {card["label"] for card in cards(lab)} == {"story"}


def test_a_model_is_evaluated_on_other_data_by_its_own_threshold_unless_they_are_its_own(lab):
    found, nowhere = lab.scripts(
        ("evaluate_elsewhere", "run=runs/toy_news-tfidf-0", "others=[toy_questions]"),
        ("evaluate_elsewhere", "run=runs/toy_news-tfidf-7", "others=[toy_questions]"),
    )
    assert found[0] == 0, found[1]
    assert "toy_news-tfidf-0 on toy_questions: text_average_precision_cluster 0." in found[1]
    written = json.loads((lab.root / "runs/toy_news-tfidf-0/elsewhere.json").read_text())
    assert set(written) == {"toy_news", "toy_questions"}
    assert {"average_precision_cluster", "accuracy", "f1"} <= set(written["toy_questions"]["metrics"])
    assert nowhere[0] != 0
    assert "no trained model in runs/toy_news-tfidf-7/model" in nowhere[1]


def test_what_a_model_costs_is_measured_by_hand_and_a_run_without_a_model_is_named(lab):
    found, nowhere = lab.scripts(
        ("measure", "data=toy_news", "model=tfidf", "hydra.run.dir=runs/toy_news-tfidf-0"),
        ("measure", "data=toy_news", "model=tfidf", "hydra.run.dir=runs/toy_news-tfidf-7"),
    )
    assert found[0] == 0, found[1]
    assert re.search(r"toy_news-tfidf-0: 0\.\d+ MB, [\d,]+ texts a second, [\d.]+ ms a pair", found[1])
    assert RunFolder.at(lab.root / "runs/toy_news-tfidf-0").cost.processor == processor()
    assert nowhere[0] != 0
    assert "runs/toy_news-tfidf-7/model: expected recipe.json there; there is no such folder" in nowhere[1]

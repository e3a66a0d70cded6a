"""Stages by hand, one after another with other settings: what an earlier run left does not pass for another."""

import json

import pytest

ROWS = 60
SOURCE = ("data=documents", "data.source.path=news.csv", "data.source.text=headline", "data.source.category=topic")
OTHER_SPLIT = "data.source.seed=7"


@pytest.fixture
def lab(finished, tmp_path):
    """The project, and a table of one's own."""
    lab = finished.copy(tmp_path / "lab")
    topics, words = ("court", "match", "phone"), ("judge", "rules", "new", "old", "wins", "loses", "late")
    rows = [
        f"the {words[n % 7]} {topics[n % 3]} of {words[n % 5]} number {n},{topics[n % 3]},{n // 2}" for n in range(ROWS)
    ]
    (lab.root / "news.csv").write_text("\n".join(["headline,topic,story", *rows]) + "\n")
    return lab


def command(stage, *overrides):
    run = (*SOURCE, "data.source.story=story", "model=tfidf", "tracking.enabled=false", "hydra.run.dir=runs/mine")
    return ("python", f"pipelines/{stage}.py", *run, *overrides)


def cards(lab):
    return [json.loads(path.read_text()) for path in sorted((lab.root / "data/triplets/documents").glob("*.card.json"))]


def test_a_model_is_evaluated_with_the_settings_and_the_split_that_it_was_trained_with(lab):
    lab.run(*command("train", "features.max_features=3"))
    code, out = lab.attempt(*command("evaluate"))
    assert code != 0
    assert "runs/mine/model was trained with other features than this command has" in out
    lab.run(*command("evaluate", "features.max_features=3"))
    lab.run("python", "pipelines/prepare.py", *SOURCE, "data.source.story=story", OTHER_SPLIT)
    code, out = lab.attempt(*command("evaluate", "features.max_features=3"))
    assert code != 0
    assert "was trained on other train texts (documents) than documents has now" in out


def test_triplets_of_another_split_or_label_are_chosen_anew(lab):
    lab.run(*command("train"))
    first = cards(lab)
    lab.run("python", "pipelines/prepare.py", *SOURCE, "data.source.story=story", OTHER_SPLIT)  # and then an interrupt
    out = lab.run(*command("train", OTHER_SPLIT))
    assert "triplets by random" in out
    second = cards(lab)
    assert not {card["train"] for card in first} & {card["train"] for card in second}
    assert "triplets by" not in lab.run(*command("train", OTHER_SPLIT))
    lab.run(*command("train", OTHER_SPLIT, "data.label=story"))
    assert {card["label"] for card in cards(lab)} == {"story"}


def test_training_says_where_the_model_is_and_evaluation_asks_for_it(lab):
    assert "the model is in runs/mine/model" in lab.run(*command("train"))
    code, out = lab.attempt(*command("evaluate", "hydra.run.dir=runs/another"))
    assert code != 0
    assert "hydra.run.dir=<folder>" in out


def test_a_model_that_takes_the_place_of_another_has_not_been_evaluated(lab):
    lab.run(*command("train"))
    lab.run(*command("evaluate"))
    assert (lab.root / "runs/mine/metrics.json").exists()
    lab.run(*command("train", "features.max_features=3"))
    left = {path.name for path in (lab.root / "runs/mine").iterdir() if path.suffix != ".log"}
    assert left == {".hydra", "model", "observed.json"}


def test_a_corpus_of_ones_own_needs_no_download(lab):
    lab.run("python", "pipelines/prepare.py", *SOURCE)
    code, out = lab.attempt("python", "pipelines/prepare.py", "data=quora")
    assert code != 0
    assert "Traceback" not in out


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        ("optimizer.lr=fast", "optimizer.lr is a number; got 'fast'"),
        ("seed=abc", "seed must be a whole number from 0 on; got 'abc'"),
        ("trainer.epochs=three", "trainer.epochs must be a whole number from 1 on; got 'three'"),
        ("augmentation.share=0.5 augmentation.synonym=0.1", "augmentation.vectors="),
    ],
)
def test_a_value_of_another_kind_is_answered_with_what_is_expected(lab, setting, answer):
    code, out = lab.attempt(*command("train", "model=static", *setting.split()))
    assert code != 0
    assert answer in out
    assert "Traceback" not in out

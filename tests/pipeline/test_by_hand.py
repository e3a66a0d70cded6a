"""Stages by hand, one after another with other settings: what an earlier run left does not pass for what is asked for."""

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
    run = (*SOURCE, "data.source.story=story", "model=tfidf", "tracking=off", "hydra.run.dir=runs/mine")
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

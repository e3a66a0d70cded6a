"""What identifies a training."""

import pytest

from twicetold_lab.runs.identity import Identity

CONFIG = {
    "name": "glove_mean",
    "data": {"name": "small"},
    "features": {"vectors": "glove/mine.txt"},
    "encoder": {},
    "examples": {"_target_": None},
    "objective": {"_target_": None},
    "optimizer": {},
    "trainer": {},
    "negatives": {"_target_": None},
    "seed": 0,
    "evaluator": {"primary": "auroc", "bins": 8, "classes": []},
}


@pytest.fixture
def of(tmp_path, monkeypatch):
    """The identity of a config, in a folder that has a corpus and a file of vectors."""
    for name in ("processed", "glove"):
        (tmp_path / name).mkdir()
    (tmp_path / "processed" / "texts.parquet").write_text("texts")
    (tmp_path / "glove" / "mine.txt").write_text("the 1 2\n")
    monkeypatch.chdir(tmp_path)
    return lambda config, code="c0de": Identity.of(config, tmp_path / "processed", tmp_path / "triplets", code=code)


@pytest.mark.parametrize(
    "features", [CONFIG["features"], {"words": CONFIG["features"]}], ids=["its own", "those of a part"]
)
def test_other_pretrained_vectors_in_the_same_file_are_another_training(of, tmp_path, features):
    config = {**CONFIG, "features": features}
    before = of(config)
    assert of(config) == before
    (tmp_path / "glove" / "mine.txt").write_text("the 1 3\n")
    assert of(config).fingerprint != before.fingerprint
    assert of(config).feature_key != before.feature_key


def test_a_featuriser_without_vectors_depends_on_the_data_alone(of, tmp_path):
    config = {**CONFIG, "features": {"vectors": None}}
    before = of(config)
    (tmp_path / "glove" / "mine.txt").write_text("the 1 3\n")
    assert of(config) == before == of(config)


def test_vectors_that_are_not_there_and_that_nobody_publishes_are_an_error(of, tmp_path):
    (tmp_path / "glove" / "mine.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"mine.txt"):
        of(CONFIG)


def test_what_a_trained_model_mined_is_part_of_the_data(of, tmp_path):
    config = {**CONFIG, "examples": {"mined": "self_training"}}
    (tmp_path / "self_training").mkdir()
    (tmp_path / "self_training" / "pseudo_labels.parquet").write_text("these")
    before = of(config)
    assert of(config) == before
    (tmp_path / "self_training" / "pseudo_labels.parquet").write_text("others")
    assert of(config).fingerprint != before.fingerprint


def test_other_code_is_another_training_of_the_same_features(of):
    before, after = of(CONFIG), of(CONFIG, code="beef")
    assert after.fingerprint != before.fingerprint
    assert after.outcome != before.outcome
    assert after.feature_key == before.feature_key


def test_other_versions_of_libraries_lead_elsewhere_and_are_found_as_the_same_training(of, monkeypatch):
    before = of(CONFIG)
    monkeypatch.setattr("twicetold_lab.runs.environment.version", lambda name: "0.0")
    after = of(CONFIG)
    assert after.fingerprint == before.fingerprint
    former = before.outcome
    monkeypatch.undo()
    assert before.outcome != former

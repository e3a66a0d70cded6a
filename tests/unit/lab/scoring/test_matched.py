"""What validation decides about a model: the matcher of pairs that its labels move, and a dedupe by it."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import twicetold
from saved_models import save_model
from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.group_metrics import group_scores
from twicetold.features.tfidf import TfIdf
from twicetold.models.tfidf import TfIdfCosine
from twicetold.trained.fitted import FILES, PACKAGE
from twicetold.trained.scoring import Scorer
from twicetold.use.model import Model
from twicetold_lab.data.corpus import Corpus, Pairs
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.scoring.deciding import decide
from twicetold_lab.scoring.matched import FEWEST, matched_on_validation

WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("lon", "tir", "mas")]
DECISION = Decision(0.99, 10.0, -9.9)  # by which no name is like its copy


@pytest.fixture(scope="module")
def names() -> Corpus:
    """Names of three words, each with a copy of one word more, as labelled pairs of neighbours."""
    random = np.random.default_rng(0)
    chosen = [" ".join(random.choice(WORDS, 3, replace=False)) for _ in range(180)]
    texts = [f"{name}{end}" for name in chosen for end in ("", f" {random.choice(WORDS)}")]
    numbers = np.arange(360)
    members = {split: numbers[start : start + 120] for split, start in (("train", 0), ("val", 120), ("test", 240))}
    pairs = {
        split: Pairs(rows[:-1], rows[1:], (rows[:-1] % 2 == 0).astype(np.float32)) for split, rows in members.items()
    }
    return Corpus(
        name="names",
        kind="labelled_pairs",
        ids=pa.array([str(number) for number in numbers]),
        texts=pa.array(texts),
        groups={"cluster": numbers // 2},
        members=members,
        pairs=pairs,
    )


def scored(corpus: Corpus) -> Scorer:
    featuriser = TfIdf().fit(corpus.texts.to_pylist())
    return Scorer(featuriser, TfIdfCosine(**featuriser.shape), DECISION)


@pytest.fixture(scope="module")
def model(names, tmp_path_factory):
    """A model of the names, with what validation has decided about pairs."""
    scorer = scored(names)
    read = scorer.read(names.texts.to_pylist())
    folder = tmp_path_factory.mktemp("names") / "model"
    save_model(folder, scorer, settings={}, data={"name": names.name, "train": names.train_digest()})
    (folder / layout.MATCHER).write_text(json.dumps(matched_on_validation(read, names, about="duplicate")))
    return twicetold.load(folder)


def f1(groups, corpus) -> float:
    return group_scores(groups, corpus.groups["cluster"][corpus.members["test"]]).f1


def test_labels_of_validation_give_the_models_score_a_weight_and_the_dedupe_goes_by_them(model, names, tmp_path):
    record = model.record.labels.matched
    weight = dict(zip(record.matcher.names, record.matcher.coefficients[1:], strict=True))
    assert max(abs(value) for name, value in weight.items() if name.startswith("score")) > 0.05
    texts = list(names.texts_of("test"))
    result = model.dedupe(texts)
    assert result.summary.threshold.score == record.decision.threshold
    assert "'validation of names'" in result.summary.threshold.evidence
    assert result.summary.threshold.expected.low is not None
    plain = shutil.copytree(model.folder, tmp_path / "plain")
    (plain / layout.MATCHER).unlink()
    assert f1(result.group, names) > f1(twicetold.load(plain).dedupe(texts).group, names)


def test_without_a_matcher_a_model_folder_has_the_same_other_files(names, tmp_path):
    scorer = scored(names)
    read, trained = scorer.read(names.texts.to_pylist()), tmp_path / "trained"
    save_model(trained, scorer, settings={}, data={"name": names.name, "train": names.train_digest()})

    def decided(matched):
        folder = tmp_path / f"{matched}"
        decide(trained, folder, read, names, Selection(), matched)
        return {file.name: file.read_bytes() for file in folder.iterdir()}

    moved, plain = decided(matched_on_validation), decided(None)
    assert json.loads(moved.pop(layout.MATCHER))["about"] == "duplicate"
    assert moved == plain


def test_a_target_precision_has_the_threshold_that_validation_assures(model, names):
    threshold = model.dedupe(list(names.texts_of("test")), precision=0.9).summary.threshold
    [target] = [link for link in model.record.validation.matched.links.links if link.aimed == 0.9]
    assert threshold.score == target.threshold
    assert threshold.assured


def test_labels_that_say_nothing_of_a_file_leave_the_matcher_of_validation(model, names, tmp_path):
    folder, texts = shutil.copytree(model.folder, tmp_path / "calibrated"), list(names.texts_of("test"))
    pairs = {"file": "pairs.csv", "count": 50}
    (folder / layout.CALIBRATION).write_text(json.dumps({"pairs": pairs}))  # not drawn with the model
    result, before = twicetold.load(folder).dedupe(texts), model.dedupe(texts)
    assert result.summary.threshold == before.summary.threshold
    np.testing.assert_array_equal(result.group, before.group)


def test_texts_unlike_those_of_validation_are_grouped_as_without_a_model(model):
    random = np.random.default_rng(1)
    kinds = ("hose", "tent", "lamp", "chair", "kettle", "ladder", "bucket", "rake")
    texts = [
        f"garden {kind} {random.integers(10, 99)} inches {end}" for kind in kinds for end in "abcdef" for _ in "ab"
    ]
    told = []
    result = model.dedupe(texts, progress=told.append)
    np.testing.assert_array_equal(result.group, twicetold.fit(texts).dedupe(texts).group)
    assert not result.summary.threshold.calibrated
    assert any(line.startswith("these texts are unlike those of the labels") for line in told)


def test_the_shift_of_features_is_in_standard_deviations_of_those_of_validation(model):
    record = model.record.labels.matched
    once, twice = (
        {name: np.array([mean + by * spread] * 3) for name, (mean, spread) in record.usual.items() if spread > 0.01}
        for by in (1, -2)
    )
    counted = replace(record, usual={name: record.usual[name] for name in once})
    assert set(counted.usual) <= set(record.matcher.names)
    assert counted.shift(once) == pytest.approx(1)
    assert counted.shift(twice) == pytest.approx(2)
    assert counted.shift({name: column[:0] for name, column in once.items()}) == 0
    assert replace(record, usual={}).shift(once) == 0


class OnlyScores:
    """Texts without search vectors."""

    searchable = score_is_dot_product = False

    def __init__(self, texts):
        self.score = texts.score

    def keeping(self, texts):
        return self

    def search_matrices(self, texts):
        raise TypeError("pairs only")


class OfPairs(Scorer):
    def read(self, texts):
        return OnlyScores(super().read(texts))


def test_a_model_that_scores_pairs_only_groups_by_the_matcher(model, names):
    texts = list(names.texts_of("test"))
    plain = scored(names)
    pairs_only = Model(OfPairs(plain.featuriser, plain.encoder, DECISION), model.folder)
    np.testing.assert_array_equal(pairs_only.dedupe(texts).group, model.dedupe(texts).group)


def test_a_matcher_of_vectors_that_are_not_installed_gives_way_to_the_similarities(model, names, monkeypatch, tmp_path):
    if "cosine" not in model.record.labels.matched.matcher.names:
        pytest.skip(f"needs {PACKAGE}, with {', '.join(FILES)}")
    monkeypatch.setattr("twicetold.trained.fitted._installed", lambda: None)
    assert model.dedupe(list(names.texts_of("test"))).summary.threshold.labelled_pairs


def test_documents_and_few_candidates_move_no_matcher(names):
    read = scored(names).read(names.texts.to_pylist())
    few = names.members["val"][: 2 * FEWEST - 2]
    pairs = {**names.pairs, "val": Pairs(few[:-1], few[1:], (few[:-1] % 2 == 0).astype(np.float32))}
    small = replace(names, members={**names.members, "val": few}, pairs=pairs)
    assert matched_on_validation(read, small, about="duplicate") is None
    assert matched_on_validation(read, replace(names, kind="documents", pairs={}), about="cluster") is None


def test_a_damaged_matcher_is_named(model, names, tmp_path):
    folder = shutil.copytree(model.folder, tmp_path / "damaged")
    content = json.loads((folder / layout.MATCHER).read_text())
    for part, value, message in (
        ("usual", {"score": [0.5]}, "two finite numbers"),
        ("matcher", {}, "the numbers of a"),
    ):
        content["matched"][part] = value
        (folder / layout.MATCHER).write_text(json.dumps(content))
        with pytest.raises(ValueError, match=f"{layout.MATCHER}: expected {message}"):
            twicetold.load(folder).dedupe(list(names.texts_of("test")))
        content["matched"]["usual"] = {}

"""A model of news answers about the story, or says why it does not; a folder of an older form is refused."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from typer.testing import CliRunner

import twicetold
from twicetold import layout
from twicetold.commands import app
from twicetold.evaluation.labels import NoVerdict
from twicetold.features.tfidf import TfIdf
from twicetold.features.word_hashing import WordHashing
from twicetold.files import write_json
from twicetold.labels.labelling import labelling
from twicetold.tables.files import open_rows, write_rows
from twicetold.trained.fitted import UNTRAINED
from twicetold.trained.model_folder import save_scorer
from twicetold.trained.reading import EncodedTexts
from twicetold.trained.scoring import Scorer
from twicetold.trained.threshold_record import read_decisions
from twicetold.use.pairs import score_file
from twicetold_lab.data.sources import toy_news
from twicetold_lab.evaluation.selection import Selection
from twicetold_lab.reporting.model_card import model_card
from twicetold_lab.scoring.deciding import choose_decisions
from twicetold_lab.scoring.duplicates import evaluation_inputs

TFIDF = {"_target_": "twicetold.models.tfidf.TfIdfCosine"}
STATIC = {"_target_": "twicetold.models.static.Static", "embedding": 2, "init_std": 0.5, "input_dropout": 0.0}
PAIR = ["a bank cuts its rates"], ["a film star gets an award"]


@pytest.fixture(scope="module")
def corpus():
    return toy_news.read(Path("nowhere"), name="toy_news")


def saved(corpus, folder, featuriser, encoder):
    """The model folder that training would write."""
    featuriser.fit(corpus.texts_of("train"))
    torch.manual_seed(0)
    built = instantiate(encoder, **featuriser.shape).eval()
    read = EncodedTexts(built, featuriser.transform(corpus.texts.to_pylist())).keeping(corpus.members["val"])
    selection, inputs = Selection(), evaluation_inputs(read, corpus, "val")
    decisions, thresholds = choose_decisions(read, inputs, corpus, selection)
    metric, value = selection.primary_value("documents", inputs)
    scorer = Scorer(featuriser, built, decisions.selected, True, decisions)
    training = UNTRAINED | {"metric": metric, "best_value": value}
    features = {"_target_": f"{type(featuriser).__module__}.{type(featuriser).__name__}"}
    data = {"name": corpus.name, "train": corpus.train_digest()}
    save_scorer(
        folder, scorer, thresholds=thresholds, features=features, settings=encoder, data=data, training=training
    )
    return folder


@pytest.fixture(scope="module")
def tfidf(corpus, tmp_path_factory):
    return saved(corpus, tmp_path_factory.mktemp("tfidf") / "model", TfIdf(), TFIDF)


@pytest.fixture(scope="module")
def untrained(corpus, tmp_path_factory):
    """A model whose scores say next to nothing."""
    return saved(corpus, tmp_path_factory.mktemp("untrained") / "model", WordHashing(), STATIC)


@pytest.fixture
def older(tfidf, tmp_path):
    """The same folder as it was written before decisions had labels."""
    import shutil

    folder = tmp_path / "older"
    shutil.copytree(tfidf, folder)
    write_json(folder / layout.DECISION, asdict(read_decisions(tfidf).selected))
    return folder


def random_pairs(corpus, count=2000):
    rows = np.random.default_rng(0).choice(corpus.members["test"], (2 * count, 2))
    rows = rows[rows[:, 0] != rows[:, 1]][:count]
    texts = corpus.texts.to_pylist()
    return rows, [texts[row] for row in rows[:, 0]], [texts[row] for row in rows[:, 1]]


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_of_random_headlines_about_as_many_are_called_the_same_as_are(corpus, tfidf):
    model = twicetold.load(tfidf)
    rows, left, right = random_pairs(corpus)
    truth = np.mean(corpus.groups["story"][rows[:, 0]] == corpus.groups["story"][rows[:, 1]])
    assert model.about == "story"
    assert 0.5 * truth <= model.predict(left, right).mean() <= min(2 * truth, 0.03)
    assert model.trained.decision.duplicate(model.similarity(left, right)).mean() > 0.9  # about category, as before


def test_predict_and_dedupe_have_one_calibration_about_the_story(tfidf):
    model = twicetold.load(tfidf)
    assert model.decision == model.thresholds.decision == read_decisions(tfidf).of(model.about).usable
    assert model.thresholds.group == model.about


def test_what_metrics_and_ensembles_rest_on_is_the_decision_about_the_primary_label(tfidf):
    model = twicetold.load(tfidf)
    assert model.trained.decision == model.decisions.labels["category"].stored
    assert model.trained.decision != model.decision


def test_a_model_without_a_usable_threshold_gives_scores_and_says_why_there_is_no_verdict(untrained, tmp_path):
    model = twicetold.load(untrained)
    assert np.isfinite(model.similarity(*PAIR)).all()
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(NoVerdict, match="no verdict about story: on validation, where"):
            ask(*PAIR)
    found = json.loads(run("score", untrained, *PAIR[0], *PAIR[1], "--json").stdout)
    assert (found["about"], found["probability"], found["duplicate"], found["threshold"]) == ("story", None, None, None)
    assert found["no_verdict"] == model.decisions.of().no_verdict
    said = run("score", untrained, *PAIR[0], *PAIR[1])
    assert said.exit_code == 0
    assert "verdict      none, as on validation" in said.stdout
    (tmp_path / "pairs.csv").write_text("left,right\na bank,a film\n")
    with open_rows(tmp_path / "pairs.csv") as rows, write_rows(tmp_path / "out.csv", format="csv") as write:
        scored = score_file(model, rows, write, ("left", "right"))
    assert (scored.duplicates, scored.about) == (None, "story")
    row = next(csv.DictReader((tmp_path / "out.csv").open()))
    assert float(row["score"]) == pytest.approx(float(model.similarity(["a bank"], ["a film"])[0]))
    assert (row["probability"], row["duplicate"]) == ("", "")
    assert "It gives no verdict: on validation" in model_card(untrained)


def test_a_label_by_name_is_answered_about_and_one_that_is_not_there_is_named(corpus, tfidf):
    model = twicetold.load(tfidf)
    np.testing.assert_array_equal(model.predict(*PAIR, about="story"), model.predict(*PAIR))
    with pytest.raises(NoVerdict, match="about category"):  # nearly all pairs would be called so
        model.predict(*PAIR, about="category")
    said = run("score", tfidf, *PAIR[0], *PAIR[1], "--about", "story")
    assert said.stdout.endswith("the same (about story)\n")
    assert "Verdicts are about `story`" in model_card(tfidf)


def test_labels_are_drawn_around_the_threshold_about_the_story(corpus, tfidf, tmp_path):
    texts = corpus.texts_of("test")
    begun = labelling(tmp_path / "pairs.csv", model=tfidf, texts=texts, pairs=20)
    assert begun.about == "story"
    assert begun.decision == twicetold.load(tfidf).decision
    sizes = np.array(begun.candidates)
    assert (sizes > 0).sum() >= 6  # bands on both sides of the threshold


def test_a_model_without_a_verdict_can_be_labelled(corpus, untrained, tmp_path):
    begun = labelling(tmp_path / "pairs.csv", model=untrained, texts=corpus.texts_of("test"), pairs=20)
    assert len(begun.pairs) == 20


def test_an_older_folder_without_the_label_of_its_decision_is_refused_with_what_to_do(older):
    with pytest.raises(ValueError, match=r"the label of each decision of a model of documents.*train the model again"):
        twicetold.load(older)


def test_a_card_names_labelled_pairs_for_the_label_that_they_are_about_alone(tfidf, tmp_path):
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(tfidf, folder)
    before, record = read_decisions(folder), {"pairs": {"file": "pairs.csv", "count": 100}}
    for label in ("story", "category"):
        now = read_decisions(folder).changed(label, before.of(label).stored)
        write_json(folder / layout.DECISION, now.to_json())
        write_json(folder / layout.CALIBRATION, record | {"about": label})
        story, category = model_card(folder).split("About `category`")
        assert ("chosen on 100 labelled pairs of `pairs.csv`" in story) == (label == "story")
        assert ("chosen on 100 labelled pairs of `pairs.csv`" in category) == (label == "category")
    assert "chosen on validation, or on labelled pairs of an earlier calibration" in story


def test_the_card_of_a_model_without_labels_names_no_split_and_no_metric(tmp_path):
    twicetold.fit(["bank rate cut", "a bank cuts rates", "film star"], lexical=True, folder=tmp_path, name="news.csv")
    card = model_card(tmp_path)
    assert "Fitted, without labels, to the texts of `news.csv`" in card
    assert "Nothing was measured: it was fitted to texts alone." in card
    assert "model.similarity(" in card
    for word in ("validation", "None", "predict_proba"):
        assert word not in card

"""`twicetold score`."""

import json

import pytest
from typer.testing import CliRunner

import twicetold as library
from twicetold.commands import app

PAIR = "bank rate cut film", "bank rate star film"


@pytest.mark.parametrize("family", ["tfidf", "static"])
def test_it_says_what_the_library_says(family, run, twicetold):
    folder = run(family)
    model = library.load(folder)
    left, right = ([text] for text in PAIR)
    found = json.loads(twicetold("score", folder, *PAIR, "--json").stdout)
    assert found["score"] == pytest.approx(float(model.similarity(left, right)[0]))
    assert found["probability"] == pytest.approx(float(model.predict_proba(left, right)[0]))
    assert found["duplicate"] == bool(model.predict(left, right)[0])
    assert found["threshold"] == model.threshold
    done = twicetold("score", folder, *PAIR)
    assert found["about"] == "duplicate"
    verdict = "the same (about duplicate)" if found["duplicate"] else "not the same (about duplicate)"
    assert done.stdout == (
        f"score        {found['score']:.4f} (threshold {model.threshold:.4f})\n"
        f"probability  {found['probability']:.4f}\nverdict      {verdict}\n"
    )
    assert done.stderr == ""


def test_texts_may_begin_with_a_dash_and_may_not_be_empty(run, twicetold):
    folder = run()
    assert twicetold("score", folder, "--", "-5 degrees", "bank").returncode == 0
    done = twicetold("score", folder, " ", "bank")
    assert done.returncode == 1
    assert done.stderr.startswith("error: LEFT is empty")


def test_words_that_the_model_does_not_know_are_named(run):
    done = CliRunner().invoke(app, ["score", str(run()), "bank zebra quagga", "the bank rate"])
    assert done.exit_code == 0
    assert done.stderr == "warning: of LEFT, the model does not know 2 of its 3 words ('zebra', 'quagga')\n"
    done = CliRunner().invoke(app, ["score", str(run("static")), "bank rate", "!!", "--json"])
    assert done.stderr == "warning: of RIGHT, the model does not know any of its terms\n"
    assert json.loads(done.stdout)["score"] == 0


def test_a_fitted_model_compares_both_texts_by_the_matcher(tmp_path):
    model = library.fit([*PAIR, "a tent, green"], lexical=True, folder=tmp_path / "model")
    found = json.loads(CliRunner().invoke(app, ["score", str(model.folder), *PAIR, "--json"]).stdout)
    left, right = ([text] for text in PAIR)
    assert (found["probability"], found["duplicate"]) == (
        model.predict_proba(left, right)[0],
        model.predict(left, right)[0],
    )
    assert (found["about"], found["threshold"], found["no_verdict"]) == ("meaning", 0, None)
    equal = CliRunner().invoke(app, ["score", str(model.folder), "Bank rate", "bank  RATE"])
    assert equal.stdout.startswith("score        none, as both are equal (threshold 0.0000)\nprobability  1.0000\n")

"""A model that is fitted to the texts that it compares."""

import csv
import warnings
from importlib.util import find_spec
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

import twicetold
from twicetold.evaluation.labels import NoVerdict
from twicetold.trained import fitted as module
from twicetold.trained.drift import drift_of_text
from twicetold.trained.fitted import LEXICAL, WITH_VECTORS, Fitted, Part, mixture, save_fitted_to
from twicetold.trained.scoring import search_vectors

PAIRS = [
    ("Where is my order?", "Where is my oder?"),
    ("How do I learn to swim?", "How do I lern to swim?"),
    ("iPhone 13", "iPhone 14"),
]
TEXTS = [text for pair in PAIRS for text in pair]
LETTERS = "twicetold.features.letter_tfidf.LetterTfIdf"
QUESTIONS = Path(__file__).parents[3] / "examples/questions.csv"


@pytest.fixture(scope="module")
def questions():
    with QUESTIONS.open() as file:
        return [row["question"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("compared", [LEXICAL, WITH_VECTORS], ids=["lexical", "with_vectors"])
def test_the_score_is_the_dot_product_of_search_vectors_and_1_for_a_text_and_itself(compared):
    if compared is WITH_VECTORS:
        pytest.importorskip("wordllama")
    fitted = Fitted(TEXTS, compared)
    vectors = search_vectors(fitted, TEXTS)[0]
    left, right = zip(*PAIRS, strict=True)
    assert fitted.score(left, right) == pytest.approx((vectors @ vectors.T).toarray()[[0, 2, 4], [1, 3, 5]], abs=1e-6)
    assert fitted.score(TEXTS, TEXTS) == pytest.approx(np.ones(6), abs=1e-5)


def test_a_dedupe_by_the_matcher_fits_the_member_of_vectors_alone(monkeypatch, questions):
    model = twicetold.fit(questions)
    monkeypatch.setattr("twicetold.dedupe.prepared.search_vectors", None)
    model.dedupe(questions)
    assert "members" not in vars(model.trained)
    assert "decision" not in vars(model.trained)


def test_misspelt_copies_are_found_and_other_numbers_are_not():
    found = twicetold.fit(TEXTS, lexical=True).dedupe(TEXTS)
    assert found.group.tolist() == [0, 0, 1, 1, 2, 3]
    assert not found.summary.threshold.calibrated
    assert found.probability[1] == pytest.approx(found.links.probability[0])


SYMBOLS = [
    ("C++ developer", "C# developer"),
    ("Grade A+", "Grade A-"),
    ("+5 V", "-5 V"),
    ("x > 5", "x < 5"),
    ("5 €", "5 $"),
    ("👍", "👎"),
]


@pytest.mark.parametrize("lexical", [True, False], ids=["lexical", "with_vectors"])
def test_texts_that_differ_in_symbols_alone_are_less_alike_than_copies(lexical):
    model = twicetold.fit([text for pair in SYMBOLS for text in pair], lexical=lexical)
    left, right = zip(*SYMBOLS, strict=True)
    assert model.similarity(left, right).max() < 0.9
    assert model.similarity(left, left) == pytest.approx(np.ones(len(left)), abs=1e-5)


FORMS = {
    "Korean": ("한국어 문장을 검색합니다", "어떻게 수영을 배웁니까"),
    "French": ("Où est l’élève préféré de la maîtresse ?", "Crème brûlée à la vanille"),
    "Vietnamese": ("Việt Nam có nhiều cảnh đẹp", "Tôi muốn học bơi"),
}


@pytest.mark.parametrize("lexical", [True, False], ids=["lexical", "with_vectors"])
@pytest.mark.parametrize(("text", "other"), FORMS.values(), ids=FORMS)
def test_a_text_is_one_text_in_each_unicode_form(text, other, lexical):
    forms = [normalize(form, text) for form in ("NFC", "NFD")]
    model = twicetold.fit([*forms, other], lexical=lexical)
    assert model.similarity(*([form] for form in forms))[0] == pytest.approx(1, abs=1e-5)
    found = twicetold.fit([forms[0], other], lexical=lexical).index([forms[0], other]).search(forms[1:], k=1)[0][0]
    assert (found.text, found.similarity) == (forms[0], pytest.approx(1, abs=1e-5))
    near = [forms[0], f"{forms[1]} !!", other, f"{text[:-1]}{text[-1] * 2}"]
    assert twicetold.fit(near, lexical=lexical).dedupe(near, threshold=0.15).group.tolist() == [0, 0, 1, 0]
    assert drift_of_text(model, forms[1]) is None


def test_a_text_in_capitals_is_the_same_to_vectors():
    pytest.importorskip("wordllama")
    texts = ["How do I learn to swim?", "Where can I buy a tent?", "My parcel has not arrived"]
    model = twicetold.fit(texts)
    capitals = list(map(str.upper, texts))
    assert model.similarity(texts, capitals) == pytest.approx(np.ones(3), abs=1e-5)
    shuffled = [capitals[0], *texts]
    assert twicetold.fit(shuffled).threshold == twicetold.fit(shuffled[::-1]).threshold


def test_models_of_the_earlier_version_read_texts_as_they_did(tmp_path):
    """Their recipes name the featurisers that do not fold."""
    earlier = {
        name: Part({**part.features, "_target_": LETTERS}, part.encoder, part.weight) for name, part in LEXICAL.items()
    }
    texts = ["C++ developer", "C# developer", "e\u0301tude"]
    save_fitted_to(tmp_path / "model", Fitted(texts, earlier), name="texts")
    model = twicetold.load(tmp_path / "model")
    assert model.similarity(texts[:1], texts[1:2])[0] == pytest.approx(1, abs=1e-6)
    assert model.similarity(["étude"], texts[2:])[0] < 0.9


def test_vectors_join_where_they_are_installed(monkeypatch):
    assert mixture() is (LEXICAL if find_spec("wordllama") is None else WITH_VECTORS)
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")
    assert mixture() is LEXICAL
    assert list(twicetold.fit(TEXTS).trained.members) == ["letters", "words"]


def test_nothing_is_promised_without_labels():
    model = twicetold.fit(TEXTS)
    with pytest.raises(NoVerdict, match="no duplicates are labelled"):
        assert model.decisions.of().usable
    with pytest.raises(ValueError, match="no target precision without labels: label pairs"):
        model.dedupe(TEXTS, precision=0.9)


def test_the_threshold_is_a_similarity(questions):
    model = twicetold.fit(questions)
    assert model.dedupe(questions, threshold=0.9).links.score.min() >= 0.9
    assert model.dedupe(questions, threshold=0.9).summary.counts.links < model.dedupe(questions).summary.counts.links


@pytest.mark.parametrize("kind", ["lexical", "with vectors", "given vectors"])
def test_the_order_of_the_rows_changes_neither_the_threshold_nor_the_groups(kind, questions, monkeypatch):
    if kind == "with vectors":
        pytest.importorskip("wordllama")
    monkeypatch.setattr(module, "SAMPLED", 20)  # of 207 texts
    rng = np.random.default_rng(0)
    given = rng.normal(size=(len(questions), 8)) + 4 * rng.normal(size=(60, 8))[np.arange(len(questions)) % 60]
    place = {text: row for row, text in enumerate(questions)}

    def found(texts):
        vectors = given[[place[text] for text in texts]] if kind == "given vectors" else None
        groups = twicetold.fit(texts, lexical=kind == "lexical", vectors=vectors).dedupe(texts)
        parts = [np.array(texts)[groups.group == number].tolist() for number in set(groups.group.tolist())]
        return groups.summary.threshold.score, sorted(map(sorted, parts))

    threshold, groups = found(questions)
    for seed in range(3):
        shuffled = [questions[row] for row in np.random.default_rng(seed).permutation(len(questions))]
        again, others = found(shuffled)
        assert again == pytest.approx(threshold, abs=1e-6)
        assert others == groups


def test_a_saved_model_groups_as_the_one_in_memory(questions, tmp_path):
    model = twicetold.fit(questions, folder=tmp_path / "model", name="questions.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = twicetold.load(tmp_path / "model")
    assert loaded.decisions == model.decisions
    assert loaded.dedupe(questions).group.tolist() == model.dedupe(questions).group.tolist()


def test_a_list_that_is_changed_after_the_fit_is_read_anew():
    texts = list(TEXTS)
    model, again = twicetold.fit(texts, lexical=True), twicetold.fit(TEXTS, lexical=True)
    texts.sort(key=len)
    texts.append(TEXTS[0])
    np.testing.assert_array_equal(model.dedupe(texts).group, again.dedupe(texts).group)


def test_only_a_model_folder_is_replaced(tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("of a year")
    with pytest.raises(FileExistsError, match=r"full is there already; it has no recipe\.json, so it is not replaced"):
        twicetold.fit(TEXTS, lexical=True, folder=full)
    assert (full / "notes.txt").read_text() == "of a year"
    for texts in (TEXTS, TEXTS[:2]):
        model = twicetold.fit(texts, lexical=True, folder=str(tmp_path / "model"))
        pair = [texts[0]], [texts[1]]
        assert twicetold.load(tmp_path / "model").similarity(*pair) == model.similarity(*pair)


def test_the_same_texts_give_the_same_bytes(tmp_path):
    for name in "ab":
        twicetold.fit(TEXTS, folder=tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*") if path.is_file())
    assert len(files) > 6
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


@pytest.mark.parametrize(("texts", "said"), [([], "no texts"), (["?", "!"], "no word"), (["a", " "], "are empty")])
def test_texts_that_say_nothing_are_refused(texts, said):
    with pytest.raises(ValueError, match=said):
        twicetold.fit(texts)

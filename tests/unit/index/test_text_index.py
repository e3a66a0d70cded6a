"""An index against dictionaries that compare each text with each; its parts against a full sort."""

import functools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import twicetold
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.group_metrics import group_scores
from twicetold.features.bm25 import Bm25Weights
from twicetold.index import open_index, segments
from twicetold.index.segments import Segment
from twicetold.models.bm25 import SymmetricBm25
from twicetold.neighbours import exact_search
from twicetold.trained.ensemble import Ensemble, Weights, constant
from twicetold.trained.scoring import Scorer
from twicetold.use.model import Model

WORDS = "bank rate cut film star award drug trial phone chip game vote".split()


@pytest.fixture
def models(run, questions):
    """Models by family: `tfidf` and `static` in a folder, `bm25` and the ensemble `pair` of the first two in memory."""

    @functools.cache
    def _models(family):
        if family in ("tfidf", "static"):
            return twicetold.load(run(family))
        decision = Decision(0.0, 2.0, -1.0)
        if family == "pair":
            members = {name: replace(_models(name).trained, decision=decision) for name in ("tfidf", "static")}
            return Model(Ensemble(members, decision, False), Path("nowhere"))
        featuriser = Bm25Weights().fit(questions.texts_of("train"))
        return Model(Scorer(featuriser, SymmetricBm25(**featuriser.shape), decision), Path("nowhere"))

    return _models


def same_groups(one, other):
    """Whether two arrays of numbers part texts alike."""
    return group_scores(one, other).ari == 1.0


def texts_of(chance, count):
    """Texts of few words, so that many are alike and some are equal."""
    return [" ".join(chance.choices(WORDS, k=chance.randint(2, 4))) for _ in range(count)]


class Reference:
    """Texts and groups of an index by components, by dictionaries and loops."""

    def __init__(self, model, threshold):
        self.model, self.threshold = model, threshold
        self.texts, self.groups = {}, {}
        self.next_group = 0

    def scores(self, text):
        """The ids of all texts with their scores, the best first, of equal ones the earliest."""
        if not self.texts:
            return []
        scores = self.model.similarity([text] * len(self.texts), list(self.texts.values())).tolist()
        found = sorted(zip(self.texts, scores), key=lambda pair: -pair[1])
        return [pair for pair in found if pair[1] > 0 or not sparse.issparse(self.model.encode(["a"]))]

    def add(self, names, texts):
        """What links connect becomes one group, which has the number that most of its texts had."""
        links = []
        for name, text in zip(names, texts):
            links += [(name, other) for other, score in self.scores(text) if score >= self.threshold]
            links += [(name, other) for other, known in self.texts.items() if known == text]
            self.texts[name] = text
        node = {name: ("old", self.groups[name]) if name in self.groups else ("new", name) for name in self.texts}
        code = {each: number for number, each in enumerate(dict.fromkeys(node.values()))}
        for name, other in links:
            low, high = sorted((code[node[name]], code[node[other]]))
            code = {each: low if number == high else number for each, number in code.items()}
        for number in dict.fromkeys(code[node[name]] for name in self.texts):  # new ones open in the order of texts
            names = [name for name in self.texts if code[node[name]] == number]
            known = [self.groups[name] for name in names if name in self.groups]
            group = max(sorted(set(known)), key=known.count) if known else self.opened()
            self.groups.update(dict.fromkeys(names, group))

    def opened(self):
        self.next_group += 1
        return self.next_group - 1

    def remove(self, names):
        for name in names:
            del self.texts[name], self.groups[name]


def first(model):
    """An index of one text with threshold 0.8, by components."""
    return model.index(["bank rate"], threshold=float(model.decision.probability(0.8)), rule="components")


@pytest.mark.parametrize("family", ["tfidf", "static"])
@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_changes_gives_what_dictionaries_give(seed, family, models, tmp_path):
    model, chance, folder = models(family), random.Random(seed), tmp_path / "index"
    index, reference = first(model), Reference(model, 0.8)
    reference.add(["0"], ["bank rate"])
    index.save(folder)
    count = 0
    for _ in range(12):
        action = chance.choice(["add", "add", "remove", "open"])
        if action == "add":
            texts = texts_of(chance, chance.choice([1, 2, 15]))
            names = [f"t{count + number}" for number in range(len(texts))]
            index.add(texts, names)
            reference.add(names, texts)
            count += len(texts)
        elif action == "remove" and reference.texts:
            names = chance.sample(list(reference.texts), chance.randint(1, len(reference.texts) // 2 + 1))
            names = names[: len(reference.texts)]
            index.remove(names)
            reference.remove(names)
        elif action == "open":
            index.save()
            index = open_index(folder, model)
        assert dict(zip(index.ids, index.groups.tolist())) == reference.groups
        assert len(index) == len(reference.texts)
    for query in texts_of(chance, 3):
        (found,) = index.search([query], 5)
        best = [score for _, score in reference.scores(query)[:5]]
        assert [match.similarity for match in found] == pytest.approx(best, abs=1e-5)
        assert all(reference.texts[match.id] == match.text for match in found)
        assert [match.group for match in found] == [reference.groups[match.id] for match in found]
        probability = [model.predict_proba([query], [match.text]).item() for match in found]
        assert [match.probability for match in found] == pytest.approx(probability, abs=1e-5)


def test_adding_does_not_write_what_is_there(models, tmp_path):
    index = models("static").index(texts_of(random.Random(0), 300))
    index.save(tmp_path / "index")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "index/00000001").iterdir()}
    for number in range(5):
        index.add([f"bank vote {number}"])
        index.save()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "index/00000001").iterdir()} == before
    assert sorted(p.name for p in (tmp_path / "index").iterdir())[0] == "00000001"
    assert len(list((tmp_path / "index").iterdir())) == index.parts + 1


@pytest.mark.parametrize("family", ["tfidf", "static", "bm25", "pair"])
def test_every_kind_of_score_is_the_models_own(family, models):
    model = models(family)
    texts = texts_of(random.Random(1), 40)
    index = model.index(texts, groups=False)
    queries = texts_of(random.Random(2), 4)
    for query, found in zip(queries, index.search(queries, 5), strict=True):
        scores = model.similarity([query] * len(found), [match.text for match in found])
        assert [match.similarity for match in found] == pytest.approx(scores.tolist(), abs=1e-5)
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_a_model_whose_score_is_no_dot_product_is_refused(models, tmp_path, monkeypatch):
    models("static").index(["bank rate"]).save(tmp_path / "index")
    monkeypatch.setattr("twicetold.trained.reading.EncodedTexts.score_is_dot_product", False)
    for use in (lambda: models("static").index(["bank rate"]), lambda: open_index(tmp_path / "index")):
        with pytest.raises(TypeError, match="no dot products of a vector for each text"):
            use()


def test_without_groups_each_text_has_one_of_its_own(models):
    index = models("tfidf").index(["bank rate"] * 4, groups=False)
    index.add(["bank rate"])
    assert index.groups.tolist() == [0, 1, 2, 3, 4]
    assert index.threshold is None


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (["c", "b"], ValueError, "with the id 'b' already"),
        (["c", "c"], ValueError, "'c' is given twice"),
        (["c"], ValueError, "an id for each text, got 1 ids for 2 texts"),
        ("cd", TypeError, "expected a list of ids, got one"),
    ],
)
def test_ids_that_cannot_be_added_are_refused_and_nothing_changes(ids, error, message, models):
    index = models("tfidf").index(["bank rate", "film star"], ["a", "b"])
    with pytest.raises(error, match=message):
        index.add(["game vote", "drug trial"], ids)
    with pytest.raises(TypeError, match="got one text"):
        index.add("game vote")
    assert index.ids == ["a", "b"]


def test_ids_that_cannot_be_removed_are_refused_and_nothing_is(models):
    index = models("tfidf").index(["bank rate", "film star"], ["a", "b"])
    for ids, message in ((["x", "a", "y"], "no text with the id 'x', 'y': nothing was"), (["a", "a"], "given twice")):
        with pytest.raises(ValueError, match=message):
            index.remove(ids)
    assert index.ids == ["a", "b"]


def test_an_id_may_be_used_again_once_its_text_is_removed_and_a_number_never_is(models):
    index = models("tfidf").index(["bank rate", "film star", "game vote"])
    index.remove(["2"])
    assert index.add(["drug trial"]).ids == ["3"]
    index.add(["chip phone"], ["2"])
    assert index.search(["chip phone"], 1)[0][0].id == "2"


@pytest.mark.parametrize("column", [iter, pa.array, np.array, lambda ids: pd.Series(ids, index=[7, 9])])
def test_ids_come_from_wherever_a_person_has_them(column, models):
    index = models("tfidf").index(["bank rate", "film star"], column(["a", "b"]))
    index.add(["game vote", "drug trial"], column(["c", "d"]))
    assert index.ids == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="no text with the id 'x': nothing was removed"):
        index.remove(column(["a", "x"]))
    index.remove(column(["a", "d"]))
    assert index.ids == ["b", "c"]
    with pytest.raises(TypeError, match=r"ids that are texts.*row 1 \(from 0\) is 7"):
        index.remove(["b", 7])


def test_the_last_text_can_be_removed_and_others_be_added(models, tmp_path):
    index = models("static").index(["bank rate"])
    index.remove(["0"])
    index.save(tmp_path / "index")
    index = open_index(tmp_path / "index", models("static"))
    assert len(index) == 0
    assert index.search(["bank"], 3) == [[]]
    assert index.add(["film star"]).groups.tolist() == [1], "the group of a removed text is not used again"


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path):
    texts = ["bank rate", "film star", "game vote", "drug trial"]
    index = twicetold.fit(texts, lexical=True, folder=tmp_path / "model").index(texts, threshold=np.float32(0.5))
    index.save(tmp_path / "index")
    assert open_index(tmp_path / "index").threshold == 0.0


def test_a_query_without_a_known_word_finds_nothing_in_a_lexical_index(models):
    assert models("tfidf").index(["bank rate"]).search(["zzz", "yyy"]) == [[], []]


def test_a_search_for_less_than_one_text_is_refused(models):
    with pytest.raises(ValueError, match="at least 1, got 0"):
        models("tfidf").index(["bank rate"]).search(["bank"], 0)


def part_without(removed, vectors):
    numbers, groups = [str(number) for number in range(17)], np.arange(17)
    groups[removed] = segments.REMOVED
    return Segment.of(vectors, numbers, numbers, groups)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), sparsely=st.booleans(), block=st.sampled_from([8, 10**6]))
def test_a_part_is_searched_as_by_a_full_stable_sort(seed, k, sparsely, block):
    rng = np.random.default_rng(seed)
    queries, vectors = (rng.integers(0 if sparsely else -2, 3, (n, 4)).astype(np.float32) for n in (5, 17))
    removed = rng.choice(17, 4, replace=False)
    scores = queries @ vectors.T
    if sparsely:
        scores[scores <= 0] = -np.inf
    scores[:, removed] = -np.inf
    kind = sparse.csr_matrix if sparsely else np.asarray
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "BLOCK", block)
        patch.setattr(segments, "HIGH", 2)
        patch.setattr(segments, "TILE", min(block, 20))
        patch.setattr(exact_search, "OFTEN", 0)
        found = part_without(removed, kind(vectors)).search(kind(queries), k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    expected = [(q, row) for q in range(5) for row in order[q] if scores[q, row] > -np.inf]
    assert list(zip(found.query.tolist(), found.row.tolist())) == expected
    assert found.similarity.tolist() == [scores[pair] for pair in expected]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), sparsely=st.booleans(), block=st.sampled_from([20, 10**6]))
def test_all_texts_of_a_part_from_a_dot_product_on_are_found(seed, sparsely, block):
    rng = np.random.default_rng(seed)
    queries, vectors = (rng.integers(0 if sparsely else -2, 3, (n, 4)).astype(np.float32) for n in (5, 17))
    removed, before, least = rng.choice(17, 4, replace=False), rng.integers(0, 18, 5), int(rng.integers(1, 6))
    kind = sparse.csr_matrix if sparsely else np.asarray
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "BLOCK", block)
        patch.setattr(segments, "ROWS", 6)
        part = part_without(removed, kind(vectors))
        found, earlier = (part.above(kind(queries), least, most=99, before=limit) for limit in (None, before))
    scores = queries @ np.asarray(part.vectors.todense() if sparsely else part.vectors).T
    scores[:, removed] = -np.inf
    for hits, limit in ((found, np.full(5, 17)), (earlier, before)):
        expected = np.nonzero((scores >= least) & (np.arange(17) < limit[:, None]))
        assert set(zip(hits.query.tolist(), hits.row.tolist())) == set(zip(*(side.tolist() for side in expected)))
        assert (hits.similarity == scores[hits.query, hits.row]).all()


def test_the_constant_of_an_ensemble_is_what_its_scores_have_beyond_dot_products(models):
    one, other = models("tfidf").trained, models("static").trained
    inner = Ensemble({"a": one, "b": other}, one.decision, False)
    documents = {name: replace(member, as_documents=True) for name, member in inner.members.items()}
    nested = Ensemble({"inner": inner, "c": one}, one.decision, False)
    weights = Weights((0.25, 2.0), -3.0)
    stacked = [
        Ensemble(each, one.decision, many, weights) for each, many in ((inner.members, False), (documents, True))
    ]
    for whole in (inner, nested, Ensemble(documents, one.decision, True), *stacked):
        vectors = whole.embed(["bank rate", "film star"])
        dot = (vectors[0] @ vectors[1].T).toarray().item()
        assert dot + constant(whole) == pytest.approx(whole.score(["bank rate"], ["film star"])[0], abs=1e-5)


def test_a_build_encodes_each_text_once_and_groups_as_dedupe_does(models, monkeypatch):
    model, texts = models("static"), ["bank rate cut", "film star", "Bank  rate CUT", "bank rate", "film star award"]
    expected = model.dedupe(texts, threshold=0.6)
    read, encoded = Scorer.read, []
    monkeypatch.setattr(Scorer, "read", lambda self, some: encoded.append(len(some)) or read(self, some))
    index = model.index(texts, threshold=0.6)
    assert index.groups.tolist() == expected.group.tolist()
    assert [count for count in encoded if count > 1] == [len(texts)]

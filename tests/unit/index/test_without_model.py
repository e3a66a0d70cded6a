"""An index without a trained model: pairs are compared by the matcher, as in a dedupe."""

import csv
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import twicetold
from twicetold.dedupe.distinct import DistinctTexts
from twicetold.dedupe.options import DedupeOptions
from twicetold.evaluation.group_metrics import group_scores
from twicetold.files import TEMPORARY
from twicetold.index import changing, open_index
from twicetold.index import compared as compared_texts
from twicetold.index.folder import MANIFEST, MODEL
from twicetold.index.info import index_info
from twicetold.matching.comparison import Comparison
from twicetold.neighbours.rules import RULES
from twicetold.trained.fitted import member_vectors

QUESTIONS = Path("examples/questions.csv")


@pytest.fixture(scope="module")
def texts():
    with QUESTIONS.open() as file:
        return [row["question"] for row in csv.DictReader(file)]


@pytest.fixture(params=[False, True], ids=["with vectors", "lexical"])
def lexical(request):
    return request.param


def test_a_build_has_the_groups_of_a_dedupe_number_by_number(texts, lexical):
    model = twicetold.fit(texts, lexical=lexical)
    grouped = model.dedupe(texts)
    assert 1 < len(set(grouped.group.tolist())) < len(texts)
    assert model.index(texts).groups.tolist() == grouped.group.tolist()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("threshold", [0.3, 0.9])
def test_a_build_goes_by_the_options_of_a_dedupe(rule, threshold, texts):
    model, options = twicetold.fit(texts, lexical=True), {"rule": rule, "threshold": threshold}
    assert DedupeOptions(**options) != DedupeOptions()
    assert model.index(texts, **options).groups.tolist() == model.dedupe(texts, **options).group.tolist()


def test_a_search_has_the_probabilities_of_a_dedupe(texts, lexical):
    """A text that the index has is compared as that text, another one as if it had been there.

    Candidates of the index are near ones by the mixture, so a pair may stand a little differently.
    """
    some = DistinctTexts.of(texts).texts
    model = twicetold.fit(some, lexical=lexical)
    compared = Comparison.of(some, encode=lambda texts, _: member_vectors(model.trained, texts))
    expected = dict(zip(zip(*(side.tolist() for side in compared.ends)), compared.in_valley().probability.tolist()))
    found = []
    for index, asked in ((model.index(some), range(len(some))), (model.index(some[20:]), range(20))):
        shift = len(some) - len(index)
        for row, matches in zip(asked, index.search([some[row] for row in asked])):
            for match in matches:
                other = int(match.id) + shift
                assert (match.probability == 1.0) == (row == other)
                if (pair := (min(row, other), max(row, other))) in expected:
                    found.append((match.probability, expected[pair]))
    one, other = np.transpose(found)
    assert len(found) > 500
    assert 0.05 < np.mean(other >= 0.5) < 0.95
    assert np.mean((one >= 0.5) != (other >= 0.5)) < 0.02
    assert np.abs(one - other).mean() < 0.02


def test_queries_that_are_asked_at_once_do_not_see_each_other(texts, lexical, monkeypatch):
    monkeypatch.setattr(compared_texts, "QUERIES", 7)
    index = twicetold.fit(texts, lexical=lexical).index(texts)
    asked = ["How do I learn Python?", "how to learn python", "how do i learn python 3", *texts[:20], "zzz"]
    alone = [index.search([text], 3)[0] for text in asked]
    together = index.search(asked, 3)
    assert [[match.id for match in found] for found in together] == [[match.id for match in found] for found in alone]
    for found, other in zip(together, alone):
        assert [match.probability for match in found] == pytest.approx([each.probability for each in other], abs=1e-5)
    more = index.search(asked, 8)
    for found, other in zip(together, more):
        assert [match.probability for match in found] == pytest.approx([m.probability for m in other[:3]], abs=1e-5)


def test_a_search_sees_what_was_added_and_not_what_was_removed(texts):
    index = twicetold.fit(texts[:100], lexical=True).index(texts[:100], groups=False)
    index.search(texts[:1], 1)
    index.add(texts[100:])
    index.remove(["0"])
    fresh = twicetold.fit(texts[:100], lexical=True).index(texts[1:], groups=False)
    for found, other in zip(index.search(texts, 3), fresh.search(texts, 3)):
        assert [match.text for match in found] == [match.text for match in other]
        assert [match.probability for match in found] == pytest.approx([each.probability for each in other], abs=1e-5)


def test_an_index_of_one_text_or_none_is_searched():
    index = twicetold.fit(["a tent"], lexical=True).index(["a tent"])
    assert index.search(["A  tent"])[0][0].probability == 1.0
    assert 0 < index.search(["two tents"])[0][0].probability < 1
    index.remove(["0"])
    assert index.search(["a tent"]) == [[]]


def test_an_index_that_grew_in_ten_steps_has_the_groups_of_a_build(texts, lexical, tmp_path):
    """The model is fitted to the first of them alone, so most words of the others are unknown to it."""
    random.Random(0).shuffle(texts := list(texts))
    twicetold.fit(texts[:22], lexical=lexical).index(texts[:22]).save(tmp_path / "index")
    for start in range(22, len(texts), 22):
        with changing(tmp_path / "index") as index:
            index.add(texts[start : start + 22])
    built = twicetold.fit(texts, lexical=lexical).index(texts)
    index = open_index(tmp_path / "index")
    assert index.ids == built.ids
    assert group_scores(index.groups, built.groups).ari == 1.0
    assert index.parts < 5


def test_texts_that_are_removed_have_no_say_in_what_is_added_later(texts):
    index = twicetold.fit(texts, lexical=True).index(texts[:200])
    index.remove([str(number) for number in range(0, 200, 3)])
    index.add(texts[200:])
    left = [text for number, text in enumerate(texts) if number >= 200 or number % 3]
    assert group_scores(index.groups, twicetold.fit(left, lexical=True).dedupe(left).group).ari == 1.0


def test_what_was_grouped_by_another_threshold_grows_by_it(texts):
    model = twicetold.fit(texts, lexical=True)
    index = model.index(texts[:100], threshold=0.9)
    index.add(texts[100:])
    assert group_scores(index.groups, model.dedupe(texts, threshold=0.9).group).ari == 1.0


def test_a_blank_text_is_named_by_its_place_among_those_that_are_added(texts):
    index = twicetold.fit(texts, lexical=True).index(texts)
    with pytest.raises(ValueError, match=r"1 of 2 texts are empty, the first is texts\[1\]"):
        index.add(["a tent", " "])
    assert len(index) == len(texts)


def test_the_model_is_in_the_folder_so_that_an_index_can_be_moved_and_copied(texts, tmp_path):
    twicetold.fit(texts, lexical=True).index(texts).save(tmp_path / "index")
    moved = (tmp_path / "index").rename(tmp_path / "elsewhere")
    opened = open_index(moved)
    assert index_info(moved).model == f"{moved / MODEL}"
    opened.save(tmp_path / "copy")
    shutil.rmtree(moved)
    found = open_index(tmp_path / "copy").search(texts[:3], 1)
    assert [match.text for (match,) in found] == [match.text for (match,) in opened.search(texts[:3], 1)]
    assert {path.name for path in (tmp_path / "copy").iterdir()} > {MANIFEST, MODEL}


def test_a_model_that_was_saved_elsewhere_stays_there(texts, tmp_path):
    twicetold.fit(texts, lexical=True, folder=tmp_path / "model").index(texts).save(tmp_path / "index")
    assert not (tmp_path / "index" / MODEL).exists()
    assert index_info(tmp_path / "index").model == f"{tmp_path / 'model'}"


def test_a_save_that_fails_at_the_model_leaves_nothing(texts, tmp_path, monkeypatch):
    index = twicetold.fit(texts, lexical=True).index(texts)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("twicetold.index.text_index.fingerprint", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        index.save(tmp_path / "index")
    assert not [path.name for path in tmp_path.iterdir() if not path.name.startswith(f"{TEMPORARY}lock")]
    index.save(tmp_path / "index")
    assert np.array_equal(open_index(tmp_path / "index").groups, index.groups)

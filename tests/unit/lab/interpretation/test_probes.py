"""Probes have the answer that their family says, and flips are counted against it."""

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from twicetold.evaluation.intervals import Share
from twicetold.trained.loaded import LoadedModel
from twicetold_lab.interpretation.probes import FAMILIES, SAME, UNITS, Probe, flips, probes
from twicetold_lab.reporting.studies import read_studies

ROOT = Path(__file__).parents[4]
TEXTS = [
    "how long is the flight from San Francisco to Berlin",
    "the bank cut 30 jobs within 5 days",
    "how do I learn Python without a book?",
    "how do I learn Java in Berlin?",
    "the court did not rule on this",
    "is it too late?",
    "who is Oscar Delmonte",
    "A Title With Capitals Has No Names In It",
]


@pytest.fixture(scope="module")
def made():
    found = probes(TEXTS * 3, each=50)
    return {family: {each.text: each.edited for each in found if each.family == family} for family in FAMILIES}


@pytest.mark.parametrize(
    ("family", "text", "edited"),
    [
        ("negation", "how do I learn Java in Berlin?", "how do I not learn Java in Berlin?"),
        ("negation", "the court did not rule on this", "the court did rule on this"),
        ("negation", "who is Oscar Delmonte", "who is not Oscar Delmonte"),
        ("order", TEXTS[0], "how long is the flight from Berlin to San Francisco"),
        ("unit", "the bank cut 30 jobs within 5 days", "the bank cut 30 jobs within 5 weeks"),
    ],
)
def test_an_edit_is_what_its_family_says(made, family, text, edited):
    assert made[family][text] == edited


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("negation", "how do I learn Python without a book?"),  # has one
        ("negation", "is it too late?"),  # "is it not too late?" may ask the same
        ("order", "how do I learn Java in Berlin?"),  # no direction
        ("entity", "A Title With Capitals Has No Names In It"),
        ("number", "who is Oscar Delmonte"),
    ],
)
def test_a_text_that_an_edit_does_not_fit_is_passed_over(made, family, text):
    assert text not in made[family]


def test_a_number_becomes_another_one_and_a_name_that_of_another_text(made):
    before, after = (set(each.split()) for each in (TEXTS[1], made["number"][TEXTS[1]]))
    (old,), (new,) = before - after, after - before
    assert old in ("30", "5")
    assert int(new) > int(old)
    names = {"San Francisco", "Berlin", "Python", "Java", "Oscar Delmonte"}
    assert any(made["entity"]["who is Oscar Delmonte"] == f"who is {name}" for name in names - {"Oscar Delmonte"})


def test_a_typo_changes_one_word_and_case_no_letter(made):
    for text, edited in made["typo"].items():
        changed = [(a, b) for a, b in zip(text.split(), edited.split(), strict=True) if a != b]
        assert len(changed) == 1
        assert changed[0][0][0] == changed[0][1][0]
    assert all(edited.lower() == text.lower() != "" and edited != text for text, edited in made["case"].items())


def test_units_are_exchanged_for_units_of_another_size():
    units = [unit for pair in UNITS for unit in pair]
    assert all(count == 1 or unit == "feet" for unit, count in Counter(units).items())


def test_the_same_seed_makes_the_same_probes_and_another_one_others():
    assert probes(TEXTS, seed=1) == probes(TEXTS, seed=1) != probes(TEXTS, seed=2)
    assert Counter(each.family for each in probes(TEXTS, each=1)).most_common(1)[0][1] == 1
    with pytest.raises(ValueError, match="expected at least one probe"):
        probes(TEXTS, each=0)


class Says:
    """A model that gives one answer."""

    def __init__(self, same):
        self.same = same

    def predict(self, left, right):
        return np.full(len(left), self.same)


@pytest.mark.parametrize("same", [True, False])
def test_a_model_of_one_answer_flips_on_all_families_that_want_the_other(same):
    asked = [Probe(family, "a", "b") for family in FAMILIES for _ in range(4)]
    for family, each in flips(Says(same), asked).items():
        assert each == Share(0 if (family in SAME) == same else 4, 4)


def test_a_model_of_words_in_lower_case_never_flips_on_case(run):
    words = ["bank rate cut", "film star bank"]  # that its vocabulary has
    case = [each for each in probes(words) if each.family == "case"]
    found = flips(LoadedModel.from_folder(run() / "model"), case)
    assert [each.count for each in found.values() if each.total] == [0]


def test_a_family_without_probes_has_no_flips():
    assert flips(Says(True), []) == dict.fromkeys(FAMILIES, Share(0, 0))


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("probe", ROOT / "tools/probe.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("inside", ["", "model"])  # run folders, or those of their models
def test_the_tool_prints_and_writes_flips_of_each_model(script, run, tmp_path, capsys, inside):
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS))
    folders = [run(family) for family in ("tfidf", "static")]
    script.main([*(str(folder / inside) for folder in folders), "--texts", str(file), "--out", str(tmp_path / "out")])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[3:] == list(FAMILIES)
    assert [line.split()[0] for line in lines] == [folder.name for folder in folders]
    rows = (tmp_path / "out/probes.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * len(FAMILIES)
    expected = flips(LoadedModel.from_folder(folders[0] / "model"), probes(TEXTS))
    assert lines[0].split()[1:] == [f"{each.count}/{each.total}" for each in expected.values()]
    assert (tmp_path / "out/probes.svg").read_text().count("<svg") == 1


def test_flips_of_a_dataset_take_the_place_of_its_former_ones_in_the_study(script, tmp_path):
    flipped = {family: Share(1, 4) for family in FAMILIES} | {"order": Share(0, 0)}
    for data, models in (("quora", ("tfidf", "siamese_lstm")), ("news", ("bm25",)), ("quora", ("dae",))):
        script.keep({f"{data}-{model}-0": flipped for model in models}, data, tmp_path)
    (study,) = read_studies(tmp_path, ["news", "quora"])
    assert [(table.data, [name for name, _ in table.rows]) for table in study.tables] == [
        ("news", [("bm25", "")]),
        ("quora", [("dae", "")]),
    ]
    cells = dict(zip(FAMILIES, study.tables[0].rows[0][1], strict=True))
    assert (cells["typo"].value, cells["order"].value) == (0.25, None)
    assert study.tables[0].columns[0] == ("number", "4 pairs")

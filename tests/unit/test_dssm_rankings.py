"""`tools/dssm_rankings.py`: its rows, LSA as vectors of words, and the table that it makes."""

import json
from pathlib import Path

import numpy as np
import pytest

from twicetold.features.splitting import words

ROOT = Path(__file__).parents[2]
TEXTS = ["Bank cuts rate", "bank rate cut again", "Film star wins", "star of the film", "rate of the bank", "a film"]


@pytest.fixture
def tool(script_of_tools):
    return script_of_tools("dssm_rankings")


def test_every_row_composes_and_rows_of_dssm_differ_in_input_and_layers_alone(tool, composed):
    found = {name: composed("train", *tool.Training(name, 0).calls[0].arguments) for name in tool.ROWS}
    base = found["two_hidden"]
    assert [found[name].encoder.hidden for name in ("no_hidden", "one_hidden", "two_hidden")] == [[], [300], [300, 300]]
    for name in ("words", "no_hidden", "one_hidden"):
        differ = {key for key in base if found[name][key] != base[key]} - {"paths", "run", "hydra"}
        assert differ <= {"features", "encoder"}, name
    assert found["words"].features.max_features == 40000


def test_what_learns_nothing_has_one_seed(tool):
    seeds = {name: [each.seed for each in tool.planned([0, 1, 2]) if each.name == name] for name in tool.ROWS}
    assert {name for name, of in seeds.items() if of == [0]} == {"tfidf", "bm25", "lsa"}
    assert seeds["words"] == [0, 1, 2]


def test_the_sum_of_lsa_s_vectors_of_words_is_the_text_folded_into_its_topics(tool):
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    def split(text):
        found = words([text], lower_case=True)
        return [found.spellings[code].as_py() for code in found.codes]

    table = {}
    for line in tool.lsa(TEXTS, 3):
        word, *numbers = line.split()
        table[word] = np.array(numbers, float)
    weighing = TfidfVectorizer(analyzer=split)
    fitted = TruncatedSVD(3, random_state=0).fit(weighing.fit_transform(TEXTS))
    new = "The bank of the film star"
    expected = fitted.transform(weighing.transform([new]))[0]
    got = sum(table[word] for word in split(new))
    np.testing.assert_allclose(got / np.linalg.norm(got), expected / np.linalg.norm(expected), atol=1e-5)


def test_the_table_has_the_paper_s_figures_beside_those_that_were_measured(tool):
    trainings = [tool.Training("tfidf", 0), tool.Training("two_hidden", 0), tool.Training("two_hidden", 1)]
    for place, training in enumerate(trainings):
        training.run.mkdir(parents=True)
        values = dict.fromkeys(tool.MEASURES, 0.25 + place / 4)
        (training.run / "metrics.json").write_text(json.dumps({"test": values}))
        intervals = {measure: [0.1, 0.9] for measure in tool.MEASURES}
        (training.run / "summary.json").write_text(json.dumps({"intervals": intervals}))
    (table,) = tool.study(trainings).tables
    rows = {name: [cell.shown.text for cell in cells] for (name, _), cells in table.rows}
    assert rows == {
        "TF-IDF": ["1", "0.250", "0.250", "0.250", "0.319", "0.382", "0.462"],
        "DSSM, two hidden layers": ["2", "0.625", "0.625", "0.625", "0.362", "0.425", "0.498"],
    }
    assert table.rows[0][1][1].interval == [0.1, 0.9]
    assert table.rows[1][1][1].deviation == pytest.approx(0.1768, abs=1e-4)


def test_the_published_table_has_every_row_of_the_tool(tool):
    (table,) = json.loads((ROOT / "runs/study-dssm-rankings.json").read_text())["tables"]
    assert [name for (name, _), _ in table["rows"]] == [row.says for row in tool.ROWS.values()]

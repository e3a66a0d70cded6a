"""`tools/make_examples.py`: the shipped files are what it makes, and the README says of them what holds."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import twicetold

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_examples", ROOT / "tools" / "make_examples.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_shipped_questions_are_those_of_the_script(script, tmp_path):
    script.write_questions(tmp_path / "questions.csv")
    made = (tmp_path / "questions.csv").read_text()
    assert made == (EXAMPLES / "questions.csv").read_text()
    assert len(made) < 60_000


def test_the_readme_counts_questions_copies_and_duplicates(script):
    rng = np.random.default_rng(script.SEED)
    questions = script.asked(1, rng)
    chosen = rng.choice(len(questions), script.AGAIN)
    texts = [*questions, *script.again([questions[place] for place in chosen], rng)]
    true = np.append(np.arange(len(questions)), chosen)
    found = twicetold.fit(texts, lexical=True).dedupe(texts, threshold=0.6)
    pairs = np.triu(np.ones((len(texts), len(texts)), bool), 1)
    same, grouped = (pairs & (codes[:, None] == codes) for codes in (true, found.group))
    assert not (grouped & ~same).any()  # every group is right
    said = f"{len(questions)} generated questions and {len(chosen)} copies with other spelling"
    assert said in (ROOT / "README.md").read_text()
    said = f"of the {same.sum()} pairs of duplicates, {grouped.sum()} are found"
    assert said in (ROOT / "README.md").read_text()

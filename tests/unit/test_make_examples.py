"""`tools/make_examples.py`: the shipped files are what it makes, and the tutorial says of them what holds."""

from pathlib import Path

import numpy as np
import pytest

import scripts
import twicetold

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs/tutorials/dedupe-a-file.md").read_text()


@pytest.fixture(scope="module")
def script():
    return scripts.script("tools/make_examples.py")


def test_the_shipped_files_are_those_of_the_script(script, tmp_path):
    texts, origins = script.questions()
    script.write_questions(tmp_path / "questions.csv", texts)
    script.write_answers(tmp_path / "answers.txt", texts, origins)
    script.write_products(tmp_path / "products.csv")
    for made in tmp_path.iterdir():
        assert made.read_text() == (EXAMPLES / made.name).read_text()
        assert made.stat().st_size < 60_000


def test_the_tutorial_counts_questions_copies_and_duplicates(script):
    texts, origins = script.questions()
    once = len(set(origins))
    assert f"{len(texts)} questions: {once} generated ones, and {len(texts) - once} copies with other spelling" in PAGE
    found = twicetold.fit(texts, lexical=True).dedupe(texts)
    pairs = np.triu(np.ones((len(texts), len(texts)), bool), 1)
    same, grouped = (pairs & (codes[:, None] == codes) for codes in (np.array(origins), found.group))
    assert not (grouped & ~same).any()  # every group is right
    assert len(found.kept()) == once + 1
    assert "Every group is right, and all but one of the 120 copies are in the group of their question." in PAGE

"""Names and docstrings use the words of the field, not those that the project once had of its own."""

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
WORDS = {
    "found": "links, groups, pairs, rows, report",
    "it": "what it is",
    "met": "contamination, pretraining_sources",
    "missed": "recall_estimate",
    "said": "must_link, cannot_link, constraints",
    "there": "what it is",
    "told": "messages",
    "worth": "survivor, best_row",
}
"""Words that no module, class, function or parameter has in its name, and what to say in their place."""
MODULES = {"in_turns": "alternating", "kept": "observed", "near": "candidates", "near_within": "blocking"}
"""Names that no module has."""
OPENINGS = ("As", "How", "Of", "What", "Where", "Whether", "Which")
"""Words that no docstring begins with: the first one says what a function does, or what a thing is."""
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SRC.rglob("*.py"))}


def names_of(path):
    """Names that a file gives to modules, classes, functions and parameters."""
    yield path.stem
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def docstrings_of(path):
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def words_of(name):
    return {word.lower() for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}


@pytest.mark.parametrize("word", WORDS)
def test_no_name_has_a_word_of_the_old_dialect(word):
    found = [f"{path.relative_to(SRC)}: {name}" for path in TREES for name in names_of(path) if word in words_of(name)]
    assert not found, f"in place of {word}: {WORDS[word]}"


def test_no_module_has_a_name_of_the_old_dialect():
    found = {path.stem.lstrip("_") for path in TREES} & set(MODULES)
    assert not found, {name: MODULES[name] for name in found}


@pytest.mark.parametrize("opening", OPENINGS)
def test_no_docstring_begins_with_a_relative_clause(opening):
    found = [f"{path.relative_to(SRC)}: {text[:60]}" for path in TREES for text in docstrings_of(path)]
    assert not [each for each in found if each.partition(": ")[2].split(" ")[0] == opening]


def test_no_argument_is_described_as_given():
    assert not [path for path in TREES if any(re.search(r": as given\.", text) for text in docstrings_of(path))]

"""Names and docstrings use the words of the field, not those that the project once had of its own."""

import ast
import re
from pathlib import Path

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
NO_VERBS = {"A", "All", "An", "Both", "Each", "Every", "From", "One", "Some", "That", "The", "These", "Those", "True"}
"""Words that no docstring of a function of the tool begins with: it begins with a verb, or is a property's."""
SENTENCES = {
    "expected as many of each": "lengths differ",
    "goes on after whatever": "resume",
    "is not known by": "cannot tell",
    "say the same": "duplicates",
    "in place of sentences": "instead of",
}
"""Words that no message or help of the tool has, and what to say in their place."""
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SRC.rglob("*.py"))}
NODES = [(path, node) for path, tree in TREES.items() for node in ast.walk(tree)]
FUNCTIONS = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def words_of(name):
    return {word.lower() for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}


def test_no_name_of_module_class_function_or_parameter_has_a_word_of_the_old_dialect():
    names = [(path, path.stem) for path in TREES]
    names += [(path, node.name) for path, node in NODES if isinstance(node, FUNCTIONS)]
    names += [(path, node.arg) for path, node in NODES if isinstance(node, ast.arg)]
    found = [f"{path.relative_to(SRC)}: {name}" for path, name in names if words_of(name) & {*WORDS}]
    assert not found, f"in place of these words: {WORDS}"
    assert not {path.stem.lstrip("_") for path in TREES} & {*MODULES}, MODULES


def test_no_docstring_begins_with_a_relative_clause_or_describes_an_argument_as_given():
    documented = [(path, node) for path, node in NODES if isinstance(node, ast.Module | FUNCTIONS)]
    texts = [(path.relative_to(SRC), ast.get_docstring(node) or "") for path, node in documented]
    assert not [f"{path}: {text[:60]}" for path, text in texts if text.split(" ")[0] in OPENINGS]
    assert not [path for path, text in texts if re.search(r": as given\.", text)]


def test_a_docstring_of_a_function_of_the_tool_begins_with_a_verb():
    functions = [
        (path, node) for path, node in NODES if isinstance(node, ast.FunctionDef) and SRC / "twicetold" in path.parents
    ]
    nouns = []
    for path, node in functions:
        first = (ast.get_docstring(node) or "Do").split(" ")[0]
        is_property = "property" in " ".join(map(ast.unparse, node.decorator_list))
        if not is_property and (first in NO_VERBS or first.startswith(("(", "`")) or first[0].isdigit()):
            nouns.append(f"{path.relative_to(SRC)}: {node.name}")
    assert not nouns


def test_no_message_or_help_of_the_tool_has_words_that_nobody_would_say():
    texts = [
        (path.relative_to(SRC), node.value)
        for path, node in NODES
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and path.name != "__init__.py"
    ]
    assert not [
        f"{path}: {text[:60]}" for path, text in texts for words in SENTENCES if words in " ".join(text.split())
    ]

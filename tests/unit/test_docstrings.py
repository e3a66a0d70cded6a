"""The examples of docstrings give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
FILES = [file for file in sorted(SRC.glob("twicetold/**/*.py")) if ">>> " in file.read_text(encoding="utf-8")]
MODULES = [".".join(file.relative_to(SRC).with_suffix("").parts) for file in FILES]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_give_what_they_show(module):
    done = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert done.attempted
    assert not done.failed

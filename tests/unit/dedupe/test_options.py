"""The options of a dedupe, and who has them."""

import inspect
from dataclasses import fields

import pytest

from twicetold.commands._dedupe_options import Asked
from twicetold.commands.dedupe import dedupe as command
from twicetold.dedupe.options import OF_FOLDERS, Choices, DedupeOptions

OPTIONS = {each.name: each for each in fields(DedupeOptions)}


def test_keywords_of_the_library_are_the_list_with_its_types():
    written = {name: getattr(kind, "__forward_arg__", kind) for name, kind in Choices.__annotations__.items()}
    assert written == {name: each.type for name, each in OPTIONS.items()}


def test_the_command_has_an_option_for_each_of_the_list():
    found = inspect.signature(command).parameters
    assert {name: found[name].default for name in OPTIONS} == {
        name: each.default or None for name, each in OPTIONS.items()
    }
    assert {each.name for each in fields(Asked)} == set(OPTIONS)


def test_what_folders_have_is_of_the_list():
    assert set(OPTIONS) >= OF_FOLDERS


def test_a_column_by_which_rows_are_kept_comes_with_its_rule():
    with pytest.raises(TypeError, match="expected a rule and a column"):
        DedupeOptions(keep=("newest",))

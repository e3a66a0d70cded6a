import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.fingerprint import fingerprint, folder_digest

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def reordered(value):
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(v) for v in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(), plain, max_size=4))
def test_the_order_of_keys_does_not_matter_at_any_depth(learning):
    assert fingerprint(reordered(learning), "d") == fingerprint(learning, "d")


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1, "objective": {"alpha": 10}},
        {"seed": 0, "objective": {"alpha": 11}},
        {"seed": 0, "objective": {"beta": 10}},
        {"seed": 0, "objective": {"alpha": "10"}},
        {"seed": 0, "objective.alpha": 10},
        {"seed": False, "objective": {"alpha": 10}},
    ],
)
def test_any_other_value_or_key_gives_another_fingerprint(other):
    assert fingerprint(other, "d") != fingerprint({"seed": 0, "objective": {"alpha": 10}}, "d")


def test_one_document_and_all_documents_are_different_settings():
    assert fingerprint({"max_df": 1}, "d") != fingerprint({"max_df": 1.0}, "d")


def test_other_data_gives_another_fingerprint():
    assert fingerprint({"seed": 0}, "a") != fingerprint({"seed": 0}, "b")


def test_the_fingerprint_of_a_release_stays_so_that_stores_stay_usable():
    assert fingerprint({"seed": 0, "model": "dae", "text": "Grüße"}, "abc") == "7f73af4a0c1463e7"


def test_it_is_short_enough_for_a_file_name():
    assert re.fullmatch("[0-9a-f]{16}", fingerprint({}, ""))


def test_a_value_that_is_not_plain_is_refused_with_a_way_out():
    with pytest.raises(TypeError, match="resolve the configuration to plain containers first"):
        fingerprint({"path": object()}, "d")


def test_the_digest_depends_on_names_and_bytes_and_nothing_else(tmp_path):
    def digest(folder, **contents):
        (tmp_path / folder).mkdir(parents=True)
        for name, content in contents.items():
            (tmp_path / folder / name).write_text(content)
        return folder_digest(tmp_path / folder, contents)

    here = digest("here", a="one", b="two")
    assert digest("there", b="two", a="one") == here
    assert digest("bytes", a="one", b="twp") != here
    assert digest("names", a="one", c="two") != here
    assert digest("borders", a="onet", b="wo") != here
    assert digest("swapped", a="two", b="one") != here


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"texts\.parquet"):
        folder_digest(tmp_path, ["texts.parquet"])

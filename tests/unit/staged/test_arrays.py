"""Arrays in files, and numbers without some of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.staged.arrays import Arrays, Pieces, write_arrays, write_numbers


def test_arrays_come_back_whole_and_by_slices(tmp_path):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(10, 3)).astype(np.float32), rng.integers(0, 9, 7)
    write_arrays(tmp_path / "a", {"one": Pieces((10, 3), np.float32, (one[:4], one[4:])), "other": other})
    found = Arrays(tmp_path / "a")
    np.testing.assert_array_equal(found.read("one"), one)
    np.testing.assert_array_equal(found.read("one", 3, 5), one[3:5])
    np.testing.assert_array_equal(found.mapped("other"), other)
    assert len(found) == 10


def test_a_damaged_file_is_named(tmp_path):
    write_arrays(tmp_path / "a", {"one": np.arange(5)})
    whole = (tmp_path / "a").read_bytes()
    for damaged in (whole[:-1], whole + b"x", b"", b"\xff" * 100):
        (tmp_path / "a").write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            Arrays(tmp_path / "a")


def test_pieces_that_do_not_add_up_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match="the pieces have"):
        write_arrays(tmp_path / "a", {"one": Pieces((3,), np.int64, (np.arange(2),))})
    assert not list(tmp_path.iterdir())


@given(count=st.integers(1, 400), share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_numbers_without_some_are_counted_and_taken_by_rank(count, share, seed, tmp_path_factory):
    out = np.random.default_rng(seed).random(count) < share
    found, rest = write_numbers(tmp_path_factory.mktemp("n") / "n", count, np.flatnonzero(out)), np.flatnonzero(~out)
    assert len(found) == len(rest)
    np.testing.assert_array_equal(found.numbers(np.arange(len(rest))), rest)
    np.testing.assert_array_equal(found.ranks(np.arange(count + 1)), np.append(0, np.cumsum(~out)))

"""A sample of numbers by a hash."""

import numpy as np

from twicetold.neighbours import sample as module
from twicetold.neighbours.sample import sample


def test_as_many_are_taken_as_asked_for_from_everywhere():
    found = sample(100_000, 5000, salt=1)
    assert len(found) == 5000
    assert (np.diff(found) > 0).all()
    assert (np.abs(np.histogram(found, 10, (0, 100_000))[0] - 500) < 100).all()


def test_all_are_taken_if_there_are_no_more():
    np.testing.assert_array_equal(sample(7, 7, salt=1), np.arange(7))


def test_it_does_not_depend_on_how_numbers_are_hashed_in_steps(monkeypatch):
    whole = sample(10_000, 100, salt=3)
    monkeypatch.setattr(module, "STEP", 999)
    np.testing.assert_array_equal(sample(10_000, 100, salt=3), whole)


def test_another_salt_takes_others():
    assert len(np.intersect1d(sample(10_000, 1000, salt=1), sample(10_000, 1000, salt=2))) < 200

"""The learning rate of each step, in training and after a resume."""

from functools import partial

import pytest

from twicetold_lab.training.schedule import Schedule


def schedule_of(**settings):
    return Schedule(**{"epochs": 4, "batch_size": 5, **settings})


def test_the_rate_rises_on_a_line_and_falls_with_the_inverse_square_root_of_the_steps():
    rate = partial(schedule_of(warmup_steps=400, decay="inverse_sqrt").rate, steps=2000)
    assert rate(1) == pytest.approx(1 / 401)
    assert rate(200) == pytest.approx(200 / 401)
    assert rate(401) == 1
    assert rate(4 * 401) == pytest.approx(1 / 2)
    assert max(map(rate, range(1, 2000))) == 1


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epochs", 0, "a whole number from 1 on; got 0"),
        ("epochs", True, "a whole number from 1 on; got True"),
        ("batch_size", -5, "a whole number from 1 on; got -5"),
        ("batch_size", None, "a whole number from 1 on; got None"),
        ("patience", 1.5, "a whole number from 0 on or null; got 1.5"),
        ("warmup_steps", "all", "a whole number from 0 on or null; got 'all'"),
        ("gradient_clip", 0, "a number above 0, or null; got 0"),
        ("precision", "16", "32-true, bf16-mixed or auto; got '16'"),
    ],
)
def test_a_schedule_says_what_it_expects(name, value, expected):
    with pytest.raises(ValueError, match=f"trainer.{name} must be {expected}"):
        schedule_of(**{name: value})


def test_the_rate_falls_on_a_line_to_zero_after_the_last_step():
    rate = partial(schedule_of(decay="linear").rate, steps=10)
    assert [rate(step) for step in range(1, 11)] == pytest.approx([1 - step / 10 for step in range(10)])
    warm = partial(schedule_of(warmup_steps=3, decay="linear").rate, steps=10)
    assert [warm(step) for step in (1, 2, 3, 4, 7, 10)] == pytest.approx([1 / 4, 1 / 2, 3 / 4, 1, 4 / 7, 1 / 7])


def test_without_a_decay_the_rate_stays_where_it_is():
    assert {schedule_of().rate(step, steps=1000) for step in (1, 10, 1000)} == {1.0}
    assert schedule_of(warmup_steps=1).rate(1, steps=1000) == 1 / 2
    assert {schedule_of(warmup_steps=1).rate(step, steps=1000) for step in (2, 10, 1000)} == {1.0}


@pytest.mark.parametrize("settings", [{"decay": "cosine"}, {"decay": "inverse_sqrt"}])
def test_a_decay_that_cannot_be_is_refused(settings):
    with pytest.raises(ValueError, match=r"trainer\.decay"):
        schedule_of(**settings)

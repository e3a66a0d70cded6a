import random

import numpy as np
import pytest

from twicetold_lab.data.sources import uci_news_by_time
from twicetold_lab.data.sources.uci_news_by_time import in_dense_first_days

SPLIT = {"train": 100, "val": 0.2, "test": 60}
ARTICLE = {"train": list(range(1, 81)), "val": list(range(81, 101)), "test": list(range(101, 161))}
START, DAY = 1394470370698, 86_400_000  # milliseconds
EVEN = (30,) * 12


def line(number, *, story, time):
    return f"{number}\theadline {number}\thttp://a.com/x\tThe Paper\t{'btem'[story % 4]}\ts{story}\ta.com\t{time}"


def file_of(per_day, *, per_story=4):
    """Rows with so many headlines on each day, evenly over its hours; None is a day without any."""
    rows = []
    for day, count in enumerate(per_day):
        for place in range(count or 0):
            time = START + day * DAY + place * DAY // count
            rows.append(line(len(rows) + 1, story=len(rows) // per_story, time=time))
    return rows


@pytest.fixture
def read(tmp_path):
    def read(lines, **options):
        (tmp_path / "newsCorpora.csv").write_text("\n".join(lines))
        return uci_news_by_time.read(tmp_path, name="x", **SPLIT, **options)

    return read


def numbers(corpus):
    return {split: sorted(int(corpus.ids[int(i)].as_py()) for i in m) for split, m in corpus.members.items()}


@pytest.mark.parametrize(
    "per_day",
    [
        EVEN,
        (40, 20, 35, None, None, 25, 50, 18, 33, 29, 41),  # as the days of a complete file differ
        (89, *EVEN),  # a first day with not quite three times as many
        (30, 30, 300, *EVEN),  # a dense day that is not among the first
        (300,),
        (150, 150),
        (200, 40),
    ],
)
def test_a_file_as_dense_in_its_first_days_as_later_is_split_as_the_article_did(read, per_day):
    corpus = read(file_of(per_day))
    assert numbers(corpus) == ARTICLE
    assert len(corpus) == 160
    assert corpus.card["audit"]["test"]["texts_before_end_of_train"] == 0.0
    assert corpus.card["left_out"]["headlines_of_dense_first_days"] == 0


def test_the_split_begins_after_dense_first_days_and_the_card_counts_every_row(read):
    rows = [*file_of((500, 200, *EVEN)), "no row", "701\t\t\t\tb\ts\ta.com\t0"]
    corpus = read(rows)
    assert [len(corpus.members[split]) for split in ("train", "val", "test")] == [80, 20, 60]
    assert numbers(corpus)["train"][0] == 701  # the sound one of two rows with this id
    assert numbers(corpus)["test"] == list(range(801, 861))
    left_out = corpus.card["left_out"]
    assert left_out["rule"] == "days at the beginning with more than 3 times the headlines of the median day"
    assert left_out["dense_first_days"] == 2
    assert left_out["headlines_of_dense_first_days"] == 700
    assert left_out["stories_of_dense_first_days"] == 175
    sides = sum(counts["texts"] for counts in corpus.card["splits"].values())
    assert (
        corpus.card["rows"]
        == len(rows)
        == (sides + 700 + left_out["headlines_after_test"] + sum(corpus.card["malformed"].values()))
    )


def test_which_days_are_left_out_does_not_depend_on_the_order_of_the_rows(read):
    rows = file_of((500, 200, *EVEN))
    straight = read(rows)
    random.Random(0).shuffle(rows)
    shuffled = read(rows)
    assert numbers(shuffled) == numbers(straight)
    assert shuffled.card == straight.card


def test_every_day_stays_where_none_may_be_left_out(read):
    corpus = read(file_of((500, 200, *EVEN)), dense_days=None)
    assert numbers(corpus) == ARTICLE
    assert corpus.card["left_out"]["rule"] == "no dense days"


@pytest.mark.parametrize(("untimed", "left_out"), [(slice(100, 102), 698), (slice(None), 0)])
def test_a_headline_without_a_time_is_of_no_dense_day(read, untimed, left_out):
    rows = file_of((500, 200, *EVEN))
    rows[untimed] = [row.rpartition("\t")[0] + "\tsoon" for row in rows[untimed]]
    corpus = read(rows)
    assert left_out == 0 or numbers(corpus)["train"][:3] == [101, 102, 701]
    assert corpus.card["left_out"]["headlines_of_dense_first_days"] == left_out


def test_a_number_of_times_below_one_is_refused(read):
    with pytest.raises(ValueError, match=r"dense_days is a number of times, at least 1, or null .*; got 0\.5"):
        read(file_of(EVEN), dense_days=0.5)


@pytest.mark.parametrize(("per_day", "dense"), [((9, 1, 1), 1), ((3, 1, 1), 0), ((9, 9, 1, 9, 1, 1, 1), 2), ((), 0)])
def test_the_dense_days_end_at_the_first_even_one(per_day, dense):
    day = np.repeat(np.arange(len(per_day), dtype=float), per_day)
    np.testing.assert_array_equal(in_dense_first_days(day, times=3), day < dense)

"""When documents were published."""

from dataclasses import replace

import numpy as np
import pytest

from twicetold_lab.data.publication import publication_days
from twicetold_lab.data.sources import toy_news, uci_news

ROW = "{id}\tHeadline {id}\thttp://a.example/{id}\tPaper\t{category}\tstory{story}\ta.example\t{stamp}\n"


def read(tmp_path, stamps):
    rows = [ROW.format(id=n + 1, category="bt"[n % 2], story=n // 2, stamp=stamp) for n, stamp in enumerate(stamps)]
    (tmp_path / uci_news.FILE).write_text("".join(rows))
    corpus = uci_news.read(tmp_path, name="uci_news", splits=(0.4, 0.3, 0.3))
    return replace(corpus, card={**corpus.card, "source": {"_target_": "twicetold_lab.data.sources.uci_news.read"}})


def test_uci_news_says_it_in_milliseconds(tmp_path):
    stamps = [1394470370698 + n * 43_200_000 for n in range(20)]
    corpus = read(tmp_path, stamps)
    assert publication_days(corpus, tmp_path) == pytest.approx(np.arange(20) / 2)
    by_time = {"_target_": "twicetold_lab.data.sources.uci_news_by_time.read"}
    split_by_time = replace(corpus, card={**corpus.card, "source": by_time})
    assert publication_days(split_by_time, tmp_path) == pytest.approx(np.arange(20) / 2)


def test_a_time_that_is_no_number_and_a_file_that_is_not_there_are_named(tmp_path):
    corpus = read(tmp_path, [1, 2, "yesterday", 4] * 5)
    with pytest.raises(
        ValueError, match=r"expected a time in milliseconds for each document, got 'yesterday' for id 3"
    ):
        publication_days(corpus, tmp_path)
    (tmp_path / uci_news.FILE).unlink()
    with pytest.raises(FileNotFoundError):
        publication_days(corpus, tmp_path)


def test_generated_headlines_are_spread_over_their_stories_in_order(tmp_path):
    corpus = toy_news.read(tmp_path, name="toy_news", stories=48)
    corpus = replace(corpus, card={**corpus.card, "source": {"_target_": "twicetold_lab.data.sources.toy_news.read"}})
    days = publication_days(corpus, tmp_path)
    assert days[0] == 0
    assert (np.diff(days) > 0).all()
    assert days[-1] == pytest.approx(48 * 1.5 / 24, rel=0.2)


def test_other_sources_know_no_times(news, tmp_path):
    assert publication_days(news, tmp_path) is None

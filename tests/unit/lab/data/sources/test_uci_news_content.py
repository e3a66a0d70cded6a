"""Articles with content, of a miniature of the file in which they come."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources import uci_news_content
from twicetold_lab.data.sources.uci_news import CATEGORIES

FURTHER = ("url", "hostname", "timestamp", "main_content_len", "category_publish_name")


def write(folder, count=40, **changed):
    """The miniature: articles in no order of time, two of a story, ids as whole numbers, and some changed values."""
    number = np.random.default_rng(0).permutation(count) + 1
    columns = {
        "article_id": number.tolist(),
        "title": [f"Headline {n}" for n in number],
        "publisher": ["Reuters"] * count,
        "category": ["btem"[n % 4] for n in number],
        "story": [f"s{n // 2}" for n in number],
        "main_content": [f"The text of article {n}.\nIt has two lines." for n in number],
        **{name: ["-"] * count for name in FURTHER},
    }
    for name, values in changed.items():
        for place, value in values.items():
            columns[name][place] = value
    pq.write_table(pa.table(columns), folder / uci_news_content.FILE, compression="snappy")


def read(folder, **settings):
    return uci_news_content.read(folder, name="articles", **{"train": 20, "test": 15, **settings})


def ids_of(corpus, split):
    return sorted(map(int, corpus.ids.take(pa.array(corpus.members[split])).to_pylist()))


def test_the_earliest_articles_train_and_the_next_ones_are_test(tmp_path):
    write(tmp_path)
    corpus = read(tmp_path)
    assert ids_of(corpus, "train") == list(range(1, 19))
    assert ids_of(corpus, "val") == [19, 20]
    assert ids_of(corpus, "test") == list(range(21, 36))  # of 40; the last five are of no split
    assert corpus.card["audit"]["test"]["texts_before_end_of_train"] == 0


def test_an_article_is_its_content_with_its_category_story_and_headline(tmp_path):
    write(tmp_path)
    corpus = read(tmp_path)
    place = corpus.ids.to_pylist().index("7")
    assert corpus.texts[place].as_py() == "The text of article 7.\nIt has two lines."
    assert corpus.fields["title"][place].as_py() == "Headline 7"
    assert corpus.group_names["category"][corpus.groups["category"][place]] == CATEGORIES["m"]
    same = np.flatnonzero(corpus.groups["story"] == corpus.groups["story"][place])
    assert sorted(corpus.ids.take(pa.array(same)).to_pylist()) == ["6", "7"]
    headlines = read(tmp_path, text="title")
    assert headlines.texts[place].as_py() == "Headline 7"
    assert headlines.fields["main_content"][place].as_py().startswith("The text of article 7.")


def test_articles_without_text_and_other_bad_rows_are_left_out_and_counted(tmp_path):
    write(
        tmp_path,
        main_content={0: None, 1: "  "},
        category={2: "x"},
        story={3: ""},
        title={4: ""},
        article_id={6: 5, 7: 5},
    )
    with pytest.raises(ValueError, match="rows are bad"):
        read(tmp_path)
    card = read(tmp_path, train=15, max_bad_rows=0.5).card
    assert card["rows"] == 40
    left_out = {"empty_main_content": 2, "unknown_category": 1, "empty_story": 1, "empty_title": 1}
    assert {name: card["malformed"][name] for name in left_out} == left_out
    assert card["malformed"]["repeated_id"] >= 1


def test_a_missing_column_and_too_few_rows_are_named(tmp_path):
    write(tmp_path)
    with pytest.raises(ValueError, match="needs at least 10348 rows"):
        uci_news_content.read(tmp_path, name="articles")
    with pytest.raises(ValueError, match=r"data\.source\.text=main_content or title, got 'body'"):
        read(tmp_path, text="body")
    table = pq.read_table(tmp_path / uci_news_content.FILE).drop_columns(["story"])
    pq.write_table(table, tmp_path / uci_news_content.FILE)
    with pytest.raises(ValueError, match="there is no column 'story'"):
        read(tmp_path)


def test_whoever_has_the_file_gets_a_corpus_by_the_pipeline(tmp_path, composed):
    from hydra.utils import instantiate

    (tmp_path / "raw").mkdir()
    write(tmp_path / "raw")
    cfg = composed("prepare", "data=uci_news_content", "data.source.train=20", "data.source.test=15")
    corpus = instantiate(cfg.data.source, raw=tmp_path / "raw", name=cfg.data.name)
    corpus.save(tmp_path / "corpus")
    assert Corpus.load(tmp_path / "corpus").texts_of("test") == corpus.texts_of("test")
    assert cfg.data.download[0].name == uci_news_content.FILE

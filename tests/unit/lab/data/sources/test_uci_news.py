import pytest

from twicetold_lab.data.sources import uci_news


def line(number, title, *, category="b", story="s1", url="http://a.com/x", time=1394470370698):
    return f'{number}\t{title}\t{url}\tThe "Paper"\t{category}\t{story}\ta.com\t{time}'


def write(folder, lines):
    (folder / "newsCorpora.csv").write_bytes(b"\n".join(x if isinstance(x, bytes) else x.encode() for x in lines))
    return folder


@pytest.fixture
def raw(tmp_path):
    lines = [
        line(n, f"headline {n} of story {n // 5}", category="btem"[n // 5 % 4], story=f"s{n // 5}")
        for n in range(200, 0, -1)
    ]
    return write(tmp_path, lines)


def test_quotes_are_literal_text_and_fields_are_kept(tmp_path):
    lines = [line(n, f'"Word {n}', story=f"s{n}") for n in range(1, 11)]
    lines[0] = line(1, '"Unclosed: 12" of rain', url="http://a.com/b/fed-says_no.html?x=/y")
    corpus = uci_news.read(write(tmp_path, lines), name="uci_news")
    assert corpus.texts[0].as_py() == '"Unclosed: 12" of rain'
    assert len(corpus) == 10
    assert corpus.fields["publisher"][0].as_py() == 'The "Paper"'
    assert corpus.fields["hostname"][0].as_py() == "a.com"
    assert corpus.fields["url_slug"][0].as_py() == "fed says no"


@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("http://a.com/", ""),
        ("http://a.com", ""),
        ("https://a.com/one/two-three/", "two three"),
        ("http://a.com/b/c%20d.story\\?track=rss#top", "c d story"),
        ("http://a.com/12/été_à.php", "été à"),
    ],
)
def test_the_slug_is_the_last_part_of_the_path_as_words(tmp_path, url, slug):
    lines = [line(n, "x", story=f"s{n}", url=url) for n in range(1, 6)]
    corpus = uci_news.read(write(tmp_path, lines), name="x")
    assert corpus.fields["url_slug"][0].as_py() == slug


def test_malformed_rows_are_counted_by_reason_and_no_other_is_lost(tmp_path):
    good = [line(n, f"t{n}", story=f"s{n}") for n in range(1, 21)]
    bad = [
        "1\ttoo\tfew",
        line(30, "many") + "\textra",
        line("x7", "no number"),
        line(31, " "),
        line(32, "what category", category="z"),
        line(33, "no story", story=""),
        line(1, "again"),
        line(34, "Z\xfcrich").encode("latin-1"),
    ]
    corpus = uci_news.read(write(tmp_path, good + bad), name="x", max_bad_rows=0.3)
    assert corpus.card["malformed"] == {
        "not_utf8": 1,
        "wrong_column_count": 2,
        "bad_id": 1,
        "empty_title": 1,
        "unknown_category": 1,
        "empty_story": 1,
        "repeated_id": 1,
    }
    assert corpus.card["malformed_lines"]["wrong_column_count"] == [21, 22]
    assert corpus.card["rows"] == 28
    assert len(corpus) == 20


def test_windows_line_ends_are_no_part_of_a_row(tmp_path):
    lines = [line(n, f"t{n}", story=f"s{n}") + "\r" for n in range(1, 6)] + [""]
    assert uci_news.read(write(tmp_path, lines), name="x").card["malformed"] == {}


def test_the_story_split_puts_no_story_on_two_sides(raw):
    corpus = uci_news.read(raw, name="uci_news", seed=1)
    stories = [set(corpus.groups["story"][corpus.members[s]]) for s in ("train", "val", "test")]
    assert all(stories[a].isdisjoint(stories[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    assert corpus.card["audit"]["test"]["stories_in_train"] == 0.0
    assert corpus.group_names == {"category": ["business", "entertainment", "health", "technology"]}


def test_a_wrong_option_is_named(raw):
    with pytest.raises(ValueError, match="by 'story', got 'time'; data=uci_news_time is split by time"):
        uci_news.read(raw, name="x", split="time")


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"wrong_column_count.*none is sound"):
        uci_news.read(write(tmp_path, ["<html>", "</html>"]), name="x")
    with pytest.raises(ValueError, match="empty"):
        uci_news.read(write(tmp_path, [""]), name="x")

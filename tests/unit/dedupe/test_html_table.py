"""Groups and pairs as a table in HTML."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import twicetold
from twicetold.dedupe.html_table import IN_NOTEBOOK, MEMBERS, NAMES, ON_PAGE, HtmlTable, Member, ShownGroup

TEXTS = [
    "Canon EOS-70D camera, 18 MP",
    "a tent for two",
    "canon eos-70d  CAMERA, 18 MP",
    "blue garden hose, 10 m of rubber",
    "Canon EOS-70D camera 18 MP, black",
    "garden hose of blue rubber, 10 m",
]
OWN = {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "mark", "del"}


class Read(HTMLParser):
    """Elements of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.text = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data):
        self.text.append(data)


def table(count, text="a red tent", *, members=2, rows=1):
    group = ShownGroup([Member(range(rows), f"{text} {number}", 0.5) for number in range(members)], text)
    return HtmlTable("group", [text], count, (group for _ in range(count)))


def grouped(texts=TEXTS, **options):
    return twicetold.fit(texts, lexical=True).dedupe(texts, **options)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "</td></table><img src=x onerror=alert(1)>",
        "a & b &lt;i&gt; \"c\" 'd' `e`",
        "<!-- <style>@import url(//x.y)</style>",
        "{title} {0} %s </title>",
    ],
)
def test_what_looks_like_html_is_text(text):
    read = Read(table(1, text).fragment())
    assert read.elements <= OWN
    assert read.attributes == {("class", "twicetold tex2jax_ignore mathjax_ignore"), ("colspan", "3"), ("dir", "auto")}
    assert "".join(read.text).count(text) == 4  # a note, a heading and two texts


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\x00", "\x1b", "\x9b", "\u2028", "\ud800"])
def test_signs_that_change_the_order_of_letters_or_end_the_file_are_replaced(sign, tmp_path):
    table(1, f"a{sign}b").write(str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert sign not in page
    assert "a\N{REPLACEMENT CHARACTER}b" in page


@pytest.mark.parametrize("text", ["word " * 100_000, "a" * 1_000_000, "'<" * 100_000, "a ' b ; " * 50_000])
def test_the_size_is_bounded_whatever_the_texts(text, tmp_path):
    shown = table(10_000, text, members=50, rows=1_000)
    assert len(shown.fragment()) < 1_000_000
    assert Read(table(10_000, text).fragment()).text[-2] == f"Not shown: {10_000 - IN_NOTEBOOK:,} groups."


def test_what_is_not_shown_is_counted():
    fragment = table(10_000, members=MEMBERS + 3, rows=NAMES + 7).fragment(ON_PAGE)
    assert fragment.count("<tbody>") == ON_PAGE
    assert fragment.count("not shown: 3 texts") == ON_PAGE
    assert fragment.count(" and 7 more") == ON_PAGE * MEMBERS
    assert f"Not shown: {10_000 - ON_PAGE:,} groups." in fragment
    assert "Not shown" not in table(IN_NOTEBOOK).fragment()
    assert len(fragment) < 500_000


def test_groups_are_taken_one_by_one():
    taken = []
    groups = (taken.append(number) or ShownGroup([Member([0], "a")]) for number in range(10_000))
    HtmlTable("group", [], 10_000, groups).fragment(3)
    assert len(taken) == 3


def test_a_page_is_whole_and_takes_nothing_from_elsewhere(tmp_path):
    table(2).write(str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "default-src 'none'" in page
    assert table(2).fragment() in page
    assert not {"script", "link", "img", "iframe"} & Read(page).elements
    assert not re.search(r"https?:|url\(|@import", page)


def test_a_page_that_cannot_be_made_leaves_the_former_one(tmp_path):
    (tmp_path / "page.html").write_text("former")
    broken = HtmlTable("group", [], 2, iter([ShownGroup([Member([0], "a")]), None]))
    with pytest.raises(AttributeError):
        broken.write(str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text() == "former"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_notebook_shows_groups_with_the_doubtful_first_and_equal_texts_once():
    groups = grouped()
    shown = list(groups.html(names=list("abcdef")).groups)
    weakest = [groups.links.probability[groups.table.weakest[at]] for at in groups.doubtful_first()]
    assert weakest == sorted(weakest)
    assert len(shown) == 2
    [one] = [group for group in shown if group.heading.startswith("group 0: 3 texts, weakest link ")]
    assert {tuple(member.names) for member in one.members} == {("a", "c"), ("e",)}
    assert [member.probability is None for member in one.members] == [True, False]
    fragment = groups._repr_html_()
    assert "2 groups of 5 texts among 6" in fragment
    assert "<td>0, 2<td" in fragment
    assert "a tent" not in fragment


def test_of_a_group_the_least_probable_text_follows_the_representative():
    texts = [f"red tent number {'alpha beta gamma delta'[: 5 * n]}" for n in (4, 3, 2, 1)]
    for group in grouped(texts, threshold=0.01).html().groups:
        probability = [member.probability for member in group.members[1:]]
        assert probability == sorted(probability)


def test_groups_of_equal_texts_come_last():
    texts = ["a hose", "A  HOSE", *TEXTS]
    shown = list(grouped(texts).html().groups)
    assert [len(group.members) for group in shown][-1] == 1
    assert shown[-1].heading == "group 0: 2 texts"


@pytest.mark.parametrize("texts", [["a tent"], ["a tent", "blue garden hose"]])
def test_no_groups_are_no_table(texts):
    fragment = grouped(texts)._repr_html_()
    assert "0 groups of 0 texts among" in fragment
    assert "<table" not in fragment


def test_pairs_are_shown_with_the_least_probable_first_and_those_of_equal_texts_once(tmp_path):
    old, new = [TEXTS[0], TEXTS[3], TEXTS[0]], [TEXTS[4], "a tent", TEXTS[5], TEXTS[4]]
    linked = twicetold.link(old, new, lexical=True)
    assert len(linked) == 5
    shown = list(linked.html().groups)
    assert [group.count for group in shown] in ([4, 1], [1, 4])
    probability = [group.members[1].probability for group in shown]
    assert probability == sorted(probability) == sorted(set(linked.probability.tolist()))
    linked.html((list("abc"), list("wxyz"))).write(str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "<td>left a, left c<td" in page
    assert "<td>right w, right z<td" in page
    assert "5 pairs with 3 of 3 rows on the left and 3 of 4 rows on the right" in page
    assert "Not shown" not in page


def test_no_pairs_are_no_table():
    fragment = twicetold.link([], ["a tent"])._repr_html_()
    assert "0 pairs with 0 of 0 rows on the left and 0 of 1 rows on the right." in fragment
    assert "<table" not in fragment


def test_results_can_be_compared_and_printed_without_their_texts():
    linked = twicetold.link(["a tent"], ["a tent"], lexical=True)
    assert "texts" not in repr(linked)
    assert np.array_equal(linked.left, [0])


def test_names_of_another_number_than_texts_are_refused():
    with pytest.raises(ValueError, match=f"names: expected a value for each of {len(TEXTS)} texts, got 1"):
        grouped().html(["a"])


def test_a_notebook_typesets_no_prices():
    classes = Read(grouped(["from $5 to $9", "from $5 to $9 each"])._repr_html_()).attributes
    assert ("class", "twicetold tex2jax_ignore mathjax_ignore") in classes


def test_a_page_goes_to_a_path(tmp_path):
    grouped().html().write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")

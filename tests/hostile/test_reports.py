"""Names that users choose (categories, columns, datasets, models) stay text in Markdown, HTML and figures."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

from twicetold import layout
from twicetold.evaluation.ranking import RocCurve
from twicetold_lab import reporting
from twicetold_lab.evaluation.figures import roc_figure, save_roc_figure
from twicetold_lab.reporting import Cell, Grid
from twicetold_lab.reporting.markdown import code, escaped, table

NAMES = {
    "a script": "<script>alert(1)</script>",
    "an image": "<img src=x onerror=alert(1)>",
    "a link": "[click](javascript:alert(1))",
    "an image that is a link": "![x](javascript:alert(1))",
    "a link in angles": "<javascript:alert(1)>",
    "a definition": "[a]: javascript:alert(1)",
    "an entity": "&lt;script&gt;",
    "a bar": "a | b || c",
    "an escaped bar": "a \\| b",
    "lines": "a\n\n# b\n\n<hr>\n| c |\n| --- |",
    "other line ends": "a\rb\r\nc\u2028d\u2029e\x85f\x0bg",
    "a terminal's codes": "\x1b]0;owned\x07\x1b[2J",
    "code": "`a` ```b``` `",
    "emphasis": "*a* **b** _c_ __d__",
    "struck through": "~~~",
    "struck words": "a ~~b~~ ~c~ d",
    "bare addresses": "see http://a.example/x HTTPS://b.example www.c.example/?a=b&c=d mailto:d@e.example",
    "an address of mail": "write to f.g+h@i.example, not to _j@k.example",
    "a heading": "# a",
    "a heading underlined": "===",
    "a rule": "---",
    "a list": "- a",
    "a numbered list": "1. a",
    "a quotation": "> a",
    "a comment": "--><!-- a",
    "a formula": "$x^$ $\\foo$",
    "quotes": "\"'><b onclick='x'>",
    "a closing tag": "</td></table></details>",
    "a template": "{{7*7}} ${7*7} {0} %s",
    "nothing to see": "\u202egnp.exe\u200b",
}
SPLITS = ("train", "val", "test")


@pytest.fixture(params=NAMES)
def hostile(request):
    return NAMES[request.param]


def write(path: Path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def project(root, name):
    """Folders of a finished run in which everything that a user can name has this name."""
    card = {
        "splits": {split: {name: 1} for split in SPLITS},
        "audit": {"test": {name: 0.5}, "val": {name: 0.5}},
    }
    write(root / "processed" / "data" / layout.CARD, {"name": "data", "kind": "documents", "card": card})
    metrics = {f"auroc_{name}": 0.8, name: 0.1}
    cell = Cell("data", "model", 0)
    folder = root / "runs" / cell.name
    write(folder / layout.METRICS, {"test": metrics, "val": metrics})
    about = {"parameters": 3, "epochs": 1, "primary": f"auroc_{name}", "pretrained_on": [name], "intervals": {}}
    write(folder / layout.SUMMARY, about)
    return cell, {part: root / part for part in ("runs", "processed")}


def markdown(root, name):
    cell, folders = project(root, name)
    runs = folders.pop("runs")
    reporting.write_cards(["data"], cards=root / "cards", **folders)
    pages = reporting.markdown(Grid([cell], {cell: f"train {name}"}), runs=runs, cards=root / "cards")
    return "\n".join(pages.values())


PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
ESCAPES_APART = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
TEXT = ("text", "text_special", "code_inline")
NO_MAIL = "<!-- -->"  # within an address
GFM_LINK = re.compile(r"(?:https?|ftp)://|www\.|(?:mailto|xmpp):", re.IGNORECASE)
GFM_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def structure(text):
    """Blocks and what is within them (links, emphasis, HTML), without the text."""
    tokens = PARSER.parse(text)
    return [(token.type, token.tag, [c.type for c in token.children or [] if not is_text(c)]) for token in tokens]


def is_text(token):
    return token.type in TEXT or (token.type == "html_inline" and token.content == NO_MAIL)


def links_of_gfm(text):
    """Addresses that GFM makes links of: those in a text without escapes, and of mail also with them."""
    found = []
    for token in ESCAPES_APART.parse(text):
        runs = [[]]
        for child in token.children or []:
            if child.type in ("text", "text_special"):
                runs[-1].append(child)
            else:
                runs.append([])
        found += [
            link for run in runs for child in run if child.type == "text" for link in GFM_LINK.findall(child.content)
        ]
        found += [mail for run in runs for mail in GFM_MAIL.findall("".join(child.content for child in run))]
    return found


def words(text):
    """The text that a reader sees in each block, with single blanks."""
    blocks = (token.children for token in PARSER.parse(text) if token.type == "inline")
    return [single_blanks("".join(child.content for child in each if child.type in TEXT)) for each in blocks]


def single_blanks(text):
    return " ".join(re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", " ", text).split())


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    """The structure of both pages with an ordinary name."""
    found = Tags()
    found.feed(page(tmp_path_factory.mktemp("page"), "name"))
    return structure(markdown(tmp_path_factory.mktemp("markdown"), "name")), found


def test_a_name_is_read_as_text_and_changes_nothing_of_the_structure_of_a_markdown_page(tmp_path, hostile, ordinary):
    text = markdown(tmp_path, hostile)
    assert structure(text) == ordinary[0]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]", text)
    seen, read = single_blanks(hostile), words(text)
    assert seen in read, "what it was pretrained on"
    assert sum(single_blanks(seen.lower().replace("_", " ")) in block.lower() for block in read) > 4


def test_a_name_that_is_an_address_is_no_link_of_gfm(tmp_path, hostile):
    assert links_of_gfm(markdown(tmp_path, hostile)) == []
    assert len(links_of_gfm("http://a.example www.b.example and c@d.example c\\@d.example")) == 4


class Tags(HTMLParser):
    """Collects tags with the names of their attributes, and the targets of links."""

    def __init__(self):
        super().__init__()
        self.found, self.targets = set(), []

    def handle_starttag(self, tag, attrs):
        self.found.add((tag, *sorted(name for name, _ in attrs)))
        self.targets += [value for name, value in attrs if name in ("href", "src")]


def page(root, name):
    cell, folders = project(root, name)
    reporting.build(Grid([cell]), target=root / "reports", **folders)
    pages = (root / "reports" / file for file in (layout.REPORT, f"{cell.data}.html"))
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_a_name_adds_no_tag_no_attribute_and_no_link_to_the_page(tmp_path, hostile, ordinary):
    found = Tags()
    found.feed(page(tmp_path, hostile))
    assert (found.found, found.targets) == (ordinary[1].found, ordinary[1].targets)


def test_a_name_in_a_figure_is_text(tmp_path, hostile):
    curve = RocCurve(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    save_roc_figure(tmp_path / "roc.svg", {hostile: curve})
    drawn = (tmp_path / "roc.svg").read_text(encoding="utf-8")
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert roc_figure({"plain": curve}).axes[0].get_lines()[1].get_label() == "plain  1.000"


@pytest.mark.parametrize(
    "ordinary",
    ["quora_wang", "re2 (p)", "-0.311", "25.0 % of the test texts", "Share of duplicates: 3", "a.tsv", "–", "1,234"],
)
def test_ordinary_values_stay_as_they_are(ordinary):
    assert escaped(ordinary) == ordinary
    assert code(ordinary) == f"`{ordinary}`"


def test_code_ends_where_it_should():
    assert code("a`b") == "``a`b``"
    assert code("`a```") == "```` `a``` ````"
    assert table(["a", "b"], [["x", "y\r\nz"]]).splitlines()[-1] == "| x | y  z |"

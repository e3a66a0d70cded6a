"""Every number in a table of the page, and in its answers, is in a file beside it."""

import csv
import json
import re
import statistics
from collections import defaultdict
from html.parser import HTMLParser

import pyarrow.parquet as pq
import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting import Cell
from twicetold_lab.reporting.glossary import count, magnitude, number, probability, share, size
from twicetold_lab.reporting.numbers import COLUMNS
from twicetold_lab.reporting.wrong_groups import FILE as GROUPS
from twicetold_lab.reporting.wrong_groups import GroupMistakes, WrongGroup, WrongLink, groups_csv
from twicetold_lab.topics import RELATED, TOPICS

from .conftest import write
from .test_errors import pairs  # noqa: F401 (a fixture)

NUMBER = re.compile(r"(?<![\w.@:/-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d)")
WHOLE = re.compile(r"\d+")


class Cells(HTMLParser):
    """Cells of tables, facts of data and answers: section, kind of element, first cell of the row, text."""

    def __init__(self):
        super().__init__()
        self.found, self.section, self.row, self.kind, self.text, self.silent = [], "", None, None, "", 0

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "section":
            self.section = attrs.get("id", "")
        if tag in ("svg", "code", "style", "script"):
            self.silent += 1
        if tag == "tr":
            self.row = None
        answer = tag == "div" and attrs.get("class") == "answer"
        if tag in ("td", "th", "dd") or answer:
            self.kind, self.text = "answer" if answer else f"{tag}.{attrs.get('class', '')}", ""

    def handle_data(self, data):
        if self.kind and not self.silent:
            self.text += data

    def handle_endtag(self, tag):
        if tag in ("svg", "code", "style", "script"):
            self.silent -= 1
        if self.kind and (tag in ("td", "th", "dd") or (tag == "div" and self.kind == "answer")):
            if self.row is None and tag == "th":
                self.row = self.text
            elif self.kind != "dd." or self.section not in ("glossary",):
                self.found.append((self.section, self.kind, self.row or "", self.text))
            self.kind = None


def shown(value):
    """How the page may show a number."""
    ways = [number(value, digits) for digits in (3, 4)] + [magnitude(value), share(value), probability(abs(value))]
    ways += [f"{value:+.3f}", f"{100 * value:.0f}", magnitude(100 * value), f"{1000 * value:.0f}", f"{value:g}"]
    ways += [f"{value:.2g}", f"{100 * value:.2f}", count(value), size(round(value))]
    return {found for way in ways for found in NUMBER.findall(way)}


def numbers_beside(folder):
    """What the page may show of the numbers in the files beside it, means and deviations over seeds among them."""
    values, by_seed = set(), defaultdict(list)
    for row in csv.DictReader((folder / layout.LEADERBOARD).open(encoding="utf-8")):
        for name in ("value", "low", "high"):
            by_seed[row["data"], row["model"], row["split"], row["metric"], name].append(float(row[name] or "nan"))
    for row in csv.DictReader((folder / "cost.csv").open(encoding="utf-8")):
        found = {name: float(value) for name, value in row.items() if re.fullmatch(r"[\d.e+-]+", value)}
        values |= {*found.values(), found.get("peak_memory_bytes", 0) - found.get("memory_before_bytes", 0)}
        by_seed[row["data"], row["model"], "seconds"].append(found.get("training_seconds", float("nan")))
    for of_seeds in by_seed.values():
        known = [value for value in of_seeds if value == value]
        values |= {*known, *([statistics.fmean(known)] if known else [])}
        values |= {statistics.stdev(known)} if len(known) > 1 else set()
    for file in ("numbers.csv", GROUPS):
        if (folder / file).is_file():
            for row in csv.DictReader((folder / file).open(encoding="utf-8")):
                values |= {float(v) for v in row.values() if re.fullmatch(r"-?[\d.]+(e[+-]\d+)?", v)}
    if (folder / "errors.parquet").is_file():
        values |= {*pq.read_table(folder / "errors.parquet")["probability"].to_pylist()}
    return {way for value in values if value == value for way in shown(value)}


def missing(folder):
    """Numbers of the page that no file beside it has: section, row and text of the cell, and the numbers."""
    parser = Cells()
    parser.feed((folder / layout.REPORT).read_text(encoding="utf-8"))
    known, lacking = numbers_beside(folder), []
    for section, kind, row, text in parser.found:
        if kind.startswith("th"):
            continue
        found = NUMBER.findall(text)
        if "text" in kind:  # words of two texts stand in such a row as well
            found = re.findall(r"(\d+) %", text)
        elif kind == "answer":  # it also counts those tied for first
            found = [each for each in found if not WHOLE.fullmatch(each)]
        if lost := [each for each in found if each not in known and each.lstrip("+") not in known]:
            lacking.append((section, row, text, lost))
    return lacking


@pytest.fixture
def everything(finished, pairs, add_mined):  # noqa: F811
    """Runs with all that the page has a table for; and how to build it."""
    project, of_all = finished
    cells = [*pairs[1], Cell("questions", "dae", 1), *(cell for cell in of_all if cell.data != "questions")]
    hashed = {"words": 1234, "letter_grams": 567, "collisions": 8, "collisions_percent": 0.6483}
    sample = {"left": "one", "right": "two", "score": 0.4321, "probability": 0.3456, "duplicate": False}
    project.add_run(
        Cell("questions", "dae", 1),
        {"auroc": 0.8765, "accuracy": 0.7654},  # the first seed has no accuracy
        primary="auroc",
        parameters=1000,
        seconds=12.3,
        samples=[sample],
        word_hashing={"": {**hashed, "published": hashed}},
    )
    for place, cell in enumerate(pairs[1]):
        file = project.run(cell) / layout.SUMMARY
        about = json.loads(file.read_text(encoding="utf-8"))
        rates = {"precision": 0.8123, "recall": 0.4567 + place / 100, "flagged": 0.3219, "errors": 0.2345}
        rates["intervals"] = {name: [value - 0.0321, value + 0.0432] for name, value in rates.items()}
        point = {"name": "best F1", "threshold": 0.4711, "probability": 0.5678, "val": rates, "test": rates}
        about |= {"points": [{**point, "false_positive_rate": 0.1357}], "samples": [sample]}
        write(file, about)
        abroad = {"metrics": {"accuracy": 0.6543, "f1": 0.4329, "same_share": 0.4444}, "shared_texts": 17}
        write(project.run(cell) / layout.ELSEWHERE, {"graded": {**abroad, "intervals": {"f1": [0.3987, 0.4654]}}})
    write(project.run(pairs[1][0]) / "cost.json", COST)
    measured = {"nmi": 0.2468, "v_measure": 0.1357, "ari": 0.0864, "by_chance": 0.0123, "count": 4}
    kmeans = {"metrics": measured, "intervals": {"ari": [0.0531, 0.0975]}, "deviations": {"ari": 0.0042}}
    write(project.run(Cell("news", "dae", 0)) / TOPICS, {"category": {"kmeans": kmeans, "agglomerative": kmeans}})
    ranked = {"metrics": {"ndcg_at_10": 0.3579, "mrr": 0.2864}, "intervals": {"ndcg_at_10": [0.3131, 0.3838]}}
    write(project.run(Cell("news", "dae", 0)) / RELATED, {"story": {"query": ranked, "popularity": ranked}})
    add_mined("questions", "random", 700, known=31, judged=20, duplicates=9)
    peer = {"data": "news", "name": "other", "version": "1", "settings": "", "seconds": 3.21}
    peer["metrics"] = {"average_precision_story": 0.5791, "ari_components": 0.4682}
    write(project.root / "runs" / layout.PEERS, [{**peer, "intervals": {"average_precision_story": [0.5135, 0.6246]}}])
    target = project.root / "reports"
    reporting.build(cells, **project.folders, target=target, elsewhere=pairs[1][:1], topics=[Cell("news", "dae", 0)])
    return target


COST = {
    "processor": "one",
    "model_bytes": 123_456,
    "model_bytes_8_bits": 34_567,
    "peak_memory_bytes": 345_678_901,
    "memory_before_bytes": 123_456_789,
    "texts_per_second_1": 1357.9,
    "texts_per_second_256": 24_680.1,
    "pair_milliseconds_p50": 0.1234,
    "pair_milliseconds_p95": 0.4567,
}


def test_every_number_of_the_page_is_in_a_file_beside_it(everything):
    assert missing(everything) == []
    assert list(csv.DictReader((everything / "numbers.csv").open(encoding="utf-8")).fieldnames) == list(COLUMNS)


@pytest.mark.parametrize("file", ["numbers.csv", "leaderboard.csv", "cost.csv", "errors.parquet"])
def test_no_file_has_but_what_others_have(everything, file):
    if file == "errors.parquet":
        (everything / file).unlink()
    else:
        path = everything / file
        path.write_text(path.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    assert missing(everything)


def test_groups_of_the_page_are_a_line_for_each_text_that_it_shows():
    joined = WrongGroup(5, 2, 6, (("a", "b"), ("c",)))
    split = WrongGroup(2, 2, 1, (("d",), ("e, f",)))
    found = GroupMistakes("dae", "average", 0.5, (joined,), (split,), (1, 1, 3), (WrongLink("a", "c", 0.875),))
    rows = list(csv.DictReader(groups_csv({"news": [found]}).splitlines()))
    assert {(row["data"], row["model"], row["rule"]) for row in rows} == {("news", "dae", "average")}
    assert [(row["kind"], row["part"], row["text"]) for row in rows] == [
        ("joined", "1", "a"),
        ("joined", "1", "b"),
        ("joined", "2", "c"),
        ("split", "1", "d"),
        ("split", "2", "e, f"),
        ("link", "1", "a"),
        ("link", "2", "c"),
    ]
    assert [rows[0][name] for name in ("texts", "parts", "pairs", "similarity")] == ["5", "2", "6", ""]
    assert [rows[-1][name] for name in ("texts", "pairs", "similarity")] == ["", "", "0.875"]

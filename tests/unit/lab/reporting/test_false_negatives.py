import re
from xml.etree import ElementTree

import pytest

from twicetold import layout
from twicetold_lab import reporting
from twicetold_lab.reporting.figures import Axis, ShareRow, share_figure


@pytest.fixture
def mined(finished, add_mined):
    project, cells = finished
    add_mined("questions", "bm25", negatives=100_000, known=50, judged=12, duplicates=9)
    add_mined("questions", "random", negatives=100_000)
    return project, cells


def built(project, cells):
    reporting.build(cells, **project.folders, target=project.root / "reports")
    return (project.root / "reports" / layout.REPORT).read_text(encoding="utf-8")


def test_the_page_shows_the_rate_of_each_strategy_as_figure_and_table(mined):
    html = built(*mined)
    section = html.split("Mined negatives that are duplicates</h3>")[1].split("<h3>")[0]
    figure = ElementTree.fromstring(re.search(r"<svg.*?</svg>", section).group())
    titles = [e.text for e in figure.iter() if e.tag == "title"]
    assert titles == ["bm25: 0.0500 %", "random: 0 %"]
    assert "<td>0.0500 %</td><td>0.0379 % to 0.0659 %</td><td>50</td><td>100,000</td>" in section
    assert "<td>9 (75.0 %)</td>" in section
    assert "<dt>False-negative rate, mined</dt>" in html


def test_the_markdown_has_the_same_table(mined):
    project, cells = mined
    text = project.markdown(cells)
    assert "| bm25 | 1,200 | 25.0 % | 0.0500 % | 0.0379 % to 0.0659 % | 50 | 100,000 | 12 | 9 (75.0 %) |" in text
    assert "| random | 1,200 | 25.0 % | 0 % | 0 % to 0.00384 % | 0 | 100,000 | 0 | – |" in text


def test_without_counts_on_the_cards_nothing_is_said(finished, add_mined):
    project, cells = finished
    add_mined("questions", "bm25", None)
    html = built(project, cells)
    assert "Mined negatives" not in html
    assert "False-negative rate, mined" not in html


def test_a_share_is_drawn_within_its_interval_and_its_name_is_escaped():
    across = Axis("%", 0, 10, (0, 5, 10))
    text = share_figure([ShareRow("<a>", "5 %", 5, (2.5, 7.5))], title="t", across=across)
    ElementTree.fromstring(text)
    x1, x2 = map(float, re.search(r'class="span" x1="([\d.]+)" x2="([\d.]+)"', text).groups())
    dot = float(re.search(r'cx="([\d.]+)"', text).group(1))
    assert x1 < dot < x2
    assert dot == pytest.approx((x1 + x2) / 2)
    assert "<a>" not in text

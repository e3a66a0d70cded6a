import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.evaluation.ranking import RocCurve
from twicetold_lab.reporting.figures import Axis, Line, Reliability, _drawing, thinned
from twicetold_lab.reporting.html import whisker
from twicetold_lab.reporting.tables import Drawn, Table, TableCell


def curve(points: int, seed: int = 0) -> RocCurve:
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.random((2, points)), axis=1)
    return RocCurve(np.r_[0.0, x, 1.0], np.r_[0.0, y, 1.0])


@given(st.integers(0, 300), st.integers(0, 5))
def test_a_thinned_curve_keeps_its_ends_and_strays_less_than_a_fifth_of_a_unit(points, seed):
    full = curve(points, seed)

    x, y = thinned(full.fpr, full.tpr)

    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    left = np.clip(np.searchsorted(x, full.fpr, side="right") - 1, 0, len(x) - 2)
    start = np.stack([x[left], y[left]])
    along = np.stack([x[left + 1], y[left + 1]]) - start
    away = np.stack([full.fpr, full.tpr]) - start
    off = np.abs(along[0] * away[1] - along[1] * away[0]) / np.maximum(np.hypot(*along), 1e-300)
    assert off.max() <= 0.2 / 300 + 1e-12


def test_a_smooth_curve_of_65536_points_is_drawn_with_fewer_than_a_hundred():
    x = np.linspace(0, 1, 65536)

    assert len(thinned(x, np.sqrt(x))[0]) < 100


def test_a_straight_line_is_drawn_with_its_two_ends():
    x = np.linspace(0, 1, 50)

    assert thinned(x, x)[0].tolist() == [0, 1]


def drawing(name="m", colour=0, points=9, title="t"):
    full, axis = curve(points), Axis.of_shares("x")
    return _drawing([Line(name, "AUROC 0.5", colour, full.fpr, full.tpr)], title, axis, axis)


def test_a_figure_is_well_formed_however_strange_the_names():
    text = drawing('<script>&"', title='a "title" <b>')
    titles = [e.text for e in ElementTree.fromstring(text).iter() if e.tag == "title"]
    assert titles == ['<script>&": AUROC 0.5']
    assert text == drawing('<script>&"', title='a "title" <b>')


def test_a_ninth_model_is_dashed_instead_of_taking_a_new_colour():
    assert 'class="line c0 dashed"' in drawing(colour=8)


@pytest.mark.parametrize("values", [[0.597, 0.648], [0.6, 0.6], [0, 0.066], [0.1, 3.7], [0.6912, 0.6931], [12.0, 190]])
def test_an_axis_holds_its_values_between_few_round_ticks(values):
    axis = Axis.around("loss", values)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert 2 <= len(axis.ticks) <= 8


def test_a_whisker_spans_its_interval_on_the_shared_axis():
    cell = TableCell("", value=0.5, interval=(0.0, 1.0))
    table = Table((TableCell("95 % interval"),), ((TableCell("m"), (cell,)),), drawn=Drawn(0, mark=0.5))
    text = whisker(table, cell)
    x1, x2 = map(float, re.search(r'class="span" x1="([\d.]+)" x2="([\d.]+)"', text).groups())
    dot = float(re.search(r'cx="([\d.]+)"', text).group(1))
    assert x1 < dot < x2
    assert dot == pytest.approx((x1 + x2) / 2)


def test_reliability_bins_hold_every_pair_once_with_their_means():
    probability = np.array([0.0, 0.05, 0.1, 0.55, 0.99, 1.0])
    found = Reliability.of(probability, np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0]))
    assert found.count.tolist() == [2, 1, 1, 2]
    assert found.predicted[0] == pytest.approx(0.025)
    assert found.observed[-1] == pytest.approx(0.5)
    assert found.gap == pytest.approx((2 * 0.475 + 0.1 + 0.45 + 2 * 0.495) / 6)

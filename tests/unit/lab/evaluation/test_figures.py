"""Figures and tables of ROC curves."""

import numpy as np
import pytest

from twicetold.evaluation.ranking import ScoreCounts
from twicetold_lab.evaluation.figures import TABLE_POINTS, roc_figure, save_roc_csv, save_roc_figure


def curves():
    rng = np.random.default_rng(0)
    labels = rng.random(5000) < 0.5
    return {
        name: ScoreCounts.of(rng.normal(size=5000) + lift * labels, labels).roc_curve()
        for name, lift in (("tf, idf", 0.5), ("dae", 1.5))
    }


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_same_curves_give_the_same_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        save_roc_figure(tmp_path / f"{name}.{suffix}", curves(), title="toy news")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_curves_are_named_with_their_area_the_best_first():
    found = curves()
    legend = roc_figure(found).axes[0].get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [f"{name}  {found[name].area:.3f}" for name in ("dae", "tf, idf")]


def test_more_curves_than_colours_are_told_apart_by_dashes():
    curve = curves()["dae"]
    lines = roc_figure({str(place): curve for place in range(9)}).axes[0].get_lines()[1:]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 9


def test_a_figure_without_curves_is_refused():
    with pytest.raises(ValueError, match="at least one curve"):
        roc_figure({})


def test_the_table_has_few_rows_for_each_label_from_corner_to_corner(tmp_path):
    save_roc_csv(tmp_path / "roc.csv", curves())
    lines = (tmp_path / "roc.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "label,false_positive_rate,true_positive_rate"
    assert lines[1] == '"tf, idf",0.000000,0.000000'
    assert lines[-1] == "dae,1.000000,1.000000"
    assert len(lines) <= 1 + 2 * TABLE_POINTS

"""docs/explanation/sources.md is what `report.py --results` makes of sources, grid and runs; a system has its row."""

import json
import re
import shlex
from itertools import chain
from pathlib import Path

import pytest

import report
from recipes import FAMILIES
from twicetold.commands import COMMANDS
from twicetold_lab.grid.rows import read_grid
from twicetold_lab.reporting.sources import NOT_RUN, SYSTEMS, sources_page

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "runs"
GRID = read_grid(ROOT)
CELLS = {cell.name: cell for cell in report.commands_of(GRID)}
ALL = [(key, system) for key, systems in SYSTEMS.items() for system in systems]

AS_THE_SECTION_SAYS = {"LexVec on STS"}
"""Systems whose figure differs for what is said above the table alone."""


def named(found):
    return [pytest.param(*one, id=f"{one[0]}: {one[1].name}") for one in found]


@pytest.fixture
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_the_page_is_a_rendering_of_the_sources_the_grid_and_the_runs(in_root):
    page = Path("docs/explanation/sources.md").read_text(encoding="utf-8")
    made = sources_page(report.commands_of(GRID), runs=Path("runs"))
    assert page == made, "python pipelines/report.py --results writes it anew"


@pytest.mark.parametrize(("key", "system"), named((k, s) for k, s in ALL if s.command))
def test_a_command_calls_what_there_is_and_a_training_composes(key, system, composed):
    program, first, *arguments = shlex.split(system.command)
    if first == "pipelines/train.py":
        assert composed("train", *arguments).name in FAMILIES
    if program == "twicetold":
        assert first in COMMANDS
    else:
        assert program == "python"
        assert first == "-c" or (ROOT / first).is_file()


def test_choices_that_the_page_names_are_leaves_of_conf():
    texts = chain.from_iterable((system.here, system.note) for _, system in ALL)
    for group, leaf in re.findall(
        r"`\+?(features|examples|objective|mining|data|model|experiment)=(\w+)`", " ".join(texts)
    ):
        assert (ROOT / "conf" / group / f"{leaf}.yaml").is_file(), f"{group}={leaf}"


def metric(cell, name, split="test"):
    return json.loads((RUNS / cell / "metrics.json").read_text())[split][name]


def test_claims_that_the_page_says_hold_do():
    ours, words = "uci_news_time-dae_published-0", "uci_news_time-tfidf_with_train-0"
    for split in ("test", "train"):
        assert metric(ours, "auroc_category", split) > metric(words, "auroc_category", split)
    assert metric(ours, "auroc_story") < metric(words, "auroc_story")
    assert metric("quora_wang-dssm_mlp-0", "accuracy") > metric("quora_wang-dssm-0", "accuracy")
    of_order = [metric(f"uci_news-{name}_fair_story-0", "retrieval_ndcg_at_10") for name in ("cdssm", "lstm_dssm")]
    assert max(of_order) < metric("uci_news-dssm_fair_story-0", "retrieval_ndcg_at_10")
    ranked = [metric(f"uci_news-{name}-0", "retrieval_ndcg_at_10") for name in ("tfidf", "bm25", "dssm_fair_story")]
    assert ranked == sorted(ranked, reverse=True)


@pytest.mark.parametrize(("key", "system"), named(ALL))
def test_a_system_is_shown_with_its_figures_or_says_why_it_is_not(key, system):
    assert bool(system.cell) + bool(system.command) + bool(system.outside) == 1
    assert [other.name for where, other in ALL if where == key].count(system.name) == 1
    if system.cell:
        assert system.cell in CELLS
        file = RUNS / system.cell / "metrics.json"
        assert system.metric
        assert not file.is_file() or system.metric in json.loads(file.read_text())[system.split]
        assert {*re.findall(r"`(\w+)`", system.here)} <= {*FAMILIES}
    if system.metric:
        assert bool(system.said) + (system.published is not None) == 1
        assert system.note or system.said or system.name in AS_THE_SECTION_SAYS, "why figures differ"


def test_what_has_not_run_is_shown_as_that(tmp_path):
    page = sources_page(report.commands_of(GRID), runs=tmp_path)
    assert page.count(f"| {NOT_RUN} |") == sum(bool(system.cell) for _, system in ALL)
    assert sum(bool(system.outside) for _, system in ALL) == 7

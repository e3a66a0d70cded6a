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
from twicetold_lab.grid.lock import changed_keys
from twicetold_lab.grid.rows import read_grid
from twicetold_lab.reporting.provenance import RESPLIT
from twicetold_lab.reporting.sources import DOCUMENTS, HASHING, PUBLISHED, SECONDS, Status, sources_page

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "runs"
GRID = read_grid(ROOT)
CELLS = {cell.name: cell for cell in report.commands_of(GRID)}
SYSTEMS = [(document.key, system) for document in DOCUMENTS for system in document.systems]

AS_THE_SECTION_SAYS = {"LexVec on STS"}
"""Systems whose figure differs for what is said above the table alone."""
NOTHING_TO_DO = {
    "Wav2vec: a frame and its neighbours",
    "Consistency training, data augmentation",
    "Training pairs in reverse order too",
    "Topic model",
    "Clicks by their order or their rate as graded positives",
    "Neutral pairs of natural language inference as negatives",
}


@pytest.fixture
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_the_page_is_a_rendering_of_the_sources_the_grid_and_the_runs(in_root):
    page = Path("docs/explanation/sources.md").read_text(encoding="utf-8")
    made = report.sources(GRID, runs=Path("runs"), changed=changed_keys(ROOT))
    assert page == made, "python pipelines/report.py --results writes it anew"


@pytest.mark.parametrize(("changed", "said"), [({}, 0), ({"prepare@stsb": {"data.source"}}, 1)])
def test_a_section_says_exactly_while_data_of_its_figures_are_split_otherwise_now(changed, said):
    page = report.sources(GRID, runs=RUNS, changed=changed)
    film = page.partition("\n## FILM")[2]
    assert page.count("has changed since its rows were made") == film.count(RESPLIT.format(data="stsb")) == said


@pytest.mark.parametrize("system", [system for _, system in SYSTEMS], ids=lambda system: system.name)
def test_a_system_is_shown_by_what_there_is_or_says_why_it_is_not(system, composed):
    assert sum(map(bool, (system.cell, system.command, system.outside))) == 1
    assert bool(system.metric) >= bool(system.cell), "a row of the grid is there for a figure"
    assert system.status(CELLS, RUNS) is not Status.MISSING
    assert bool(system.outside) == (system.name in NOTHING_TO_DO)
    if system.metric and system.metric != HASHING:
        assert system.said or system.paper or system.published is not None, "what the document has"
    if system.paper:  # a figure of a paper is written once
        data, model = system.paper
        assert model in PUBLISHED[data]
        assert system.published is None
        assert not system.said
    if system.metric and (system.paper or system.published):
        assert system.note or system.name in AS_THE_SECTION_SAYS, "why the figures differ"
    if system.cell in CELLS:
        assert {*re.findall(r"`(\w+)`", system.here)} <= {*FAMILIES}
        file = RUNS / system.cell / "metrics.json"
        if file.is_file() and system.metric not in (SECONDS, HASHING):
            assert system.metric in json.loads(file.read_text())[system.split]
    if system.command:
        program, first, *rest = shlex.split(system.command)
        assert program in ("python", "twicetold")
        assert first in COMMANDS if program == "twicetold" else first == "-c" or (ROOT / first).is_file()
        if first == "pipelines/train.py":
            assert composed("train", *rest).name in FAMILIES


def test_names_are_unique_within_a_document():
    assert len({(key, system.name) for key, system in SYSTEMS}) == len(SYSTEMS)


def test_choices_that_the_page_names_are_leaves_of_conf():
    texts = chain.from_iterable((system.here, system.note) for _, system in SYSTEMS)
    for group, leaf in re.findall(
        r"`\+?(features|examples|objective|mining|data|model|experiment)=(\w+)`", " ".join(texts)
    ):
        assert (ROOT / "conf" / group / f"{leaf}.yaml").is_file(), f"{group}={leaf}"


def metric(cell, name, split="test"):
    return json.loads((RUNS / cell / "metrics.json").read_text())[split][name]


def test_claims_that_the_page_says_hold_do():
    ours, words = "uci_news_time-dae_published-0", "uci_news_time-tfidf-0"
    for split in ("test", "train"):
        assert metric(ours, "auroc_category", split) > metric(words, "auroc_category", split)
    assert metric(ours, "auroc_story") < metric(words, "auroc_story")
    assert metric("quora_wang-dssm_mlp-0", "accuracy") > metric("quora_wang-dssm-0", "accuracy")
    of_order = [metric(f"uci_news-{name}_fair_story-0", "retrieval_ndcg_at_10") for name in ("cdssm", "lstm_dssm")]
    assert max(of_order) < metric("uci_news-dssm_fair_story-0", "retrieval_ndcg_at_10")
    ranked = [metric(f"uci_news-{name}-0", "retrieval_ndcg_at_10") for name in ("tfidf", "bm25", "dssm_fair_story")]
    assert ranked == sorted(ranked, reverse=True)


def test_a_system_that_was_not_run_or_is_not_there_is_shown_as_that(tmp_path):
    page = sources_page(report.commands_of(GRID), runs=tmp_path, seconds={})
    assert f"**{Status.NOT_RUN}**" in page
    assert f"**{Status.MISSING}**" not in page
    assert f"| {Status.MEASURED} |" in page
    (counts,) = re.findall(r"^\| \[FILM.*$", page, re.MULTILINE)
    assert counts.split("|")[2].strip() == "0"

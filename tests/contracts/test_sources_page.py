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
from twicetold_lab.reporting.sources import DOCUMENTS, PUBLISHED, Status, sources_page

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "runs"
GRID = read_grid(ROOT)
CELLS = {cell.name: cell for cell in report.commands_of(GRID)}
SYSTEMS = [(document.key, system) for document in DOCUMENTS for system in document.systems]

NOT_HERE_YET: dict[str, set[str]] = {}
"""Systems that may be missing. This only shrinks: whoever brings one takes its name out, and the page shows its row."""
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


def named(found):
    return [pytest.param(*one, id=f"{one[0]}: {one[1].name}") for one in found]


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


def test_every_system_has_a_row_or_is_known_to_be_missing():
    missing = {
        key: {s.name for k, s in SYSTEMS if k == key and s.status(CELLS, RUNS) is Status.MISSING} for key, _ in SYSTEMS
    }
    assert missing == {key: names for key, names in NOT_HERE_YET.items() if names} | {
        key: set() for key in missing.keys() - NOT_HERE_YET.keys()
    }


def test_a_system_is_shown_or_says_why_it_is_not():
    for _, system in SYSTEMS:
        ways = [bool(system.cell), bool(system.command), bool(system.outside)]
        assert sum(ways) == 1, system.name
        assert bool(system.metric) >= bool(system.cell), f"{system.name}: a row of the grid is there for a figure"
    assert {system.name for _, system in SYSTEMS if system.outside} == NOTHING_TO_DO


def test_names_are_unique_within_a_document():
    assert len({(key, system.name) for key, system in SYSTEMS}) == len(SYSTEMS)


@pytest.mark.parametrize(("key", "system"), named((k, s) for k, s in SYSTEMS if s.cell in CELLS))
def test_a_figure_is_among_those_of_its_run(key, system):
    file = RUNS / system.cell / "metrics.json"
    if file.is_file():
        assert system.metric in json.loads(file.read_text())[system.split]


@pytest.mark.parametrize(("key", "system"), named((k, s) for k, s in SYSTEMS if s.paper))
def test_a_figure_of_a_paper_is_written_once(key, system):
    data, model = system.paper
    assert model in PUBLISHED[data]
    assert system.published is None
    assert not system.said


def test_a_system_with_a_figure_says_what_the_document_has():
    for _, system in SYSTEMS:
        if system.metric:
            assert system.said or system.paper or system.published is not None, system.name


TRAINED = [(k, s) for k, s in SYSTEMS if s.command.startswith("python pipelines/train.py")]


@pytest.mark.parametrize(("key", "system"), named(TRAINED))
def test_the_command_of_a_training_composes(key, system, composed):
    assert composed("train", *shlex.split(system.command)[2:]).name in FAMILIES


@pytest.mark.parametrize(("key", "system"), named((k, s) for k, s in SYSTEMS if s.command))
def test_a_command_calls_what_there_is(key, system):
    program, first, *_ = shlex.split(system.command)
    if program == "twicetold":
        assert first in COMMANDS
    else:
        assert program == "python"
        assert first == "-c" or (ROOT / first).is_file()


def test_choices_that_the_page_names_are_leaves_of_conf():
    texts = chain.from_iterable((system.here, system.note) for _, system in SYSTEMS)
    for group, leaf in re.findall(
        r"`\+?(features|examples|objective|mining|data|model|experiment)=(\w+)`", " ".join(texts)
    ):
        assert (ROOT / "conf" / group / f"{leaf}.yaml").is_file(), f"{group}={leaf}"


def test_families_that_the_page_names_are_families():
    for _, system in SYSTEMS:
        if system.cell in CELLS:
            assert {*re.findall(r"`(\w+)`", system.here)} <= {*FAMILIES}, system.name


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


def test_the_lexical_baselines_are_above_dssm_as_the_page_says():
    ranked = [metric(f"uci_news-{name}-0", "retrieval_ndcg_at_10") for name in ("tfidf", "bm25", "dssm_fair_story")]
    assert ranked == sorted(ranked, reverse=True)


def test_no_order_of_a_published_table_is_denied_by_one_seed_on_a_part_of_the_data():
    texts = [document.differs for document in DOCUMENTS] + [system.note for _, system in SYSTEMS]
    assert not [text for text in texts if re.search(r"order of (the |)table[^.]* does not hold", text)]


def test_a_system_with_figures_says_why_they_differ():
    assert {s.name for _, s in SYSTEMS if s.metric and (s.paper or s.published) and not s.note} <= AS_THE_SECTION_SAYS


def test_a_system_that_was_not_run_or_is_not_there_is_shown_as_that(tmp_path):
    page = sources_page(report.commands_of(GRID), runs=tmp_path)
    assert f"**{Status.NOT_RUN}**" in page
    assert (f"**{Status.MISSING}**" in page) == any(NOT_HERE_YET.values())
    assert f"| {Status.MEASURED} |" in page
    (counts,) = re.findall(r"^\| \[FILM.*$", page, re.MULTILINE)
    assert counts.split("|")[2].strip() == "0"

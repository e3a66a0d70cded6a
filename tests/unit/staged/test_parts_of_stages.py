"""Single steps: numbers without some of them, shards of cells."""

from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twicetold.matching.candidates import PROBES
from twicetold.staged.arrays import Numbers
from twicetold.staged.folder_dedupe import HELD, copies, with_shards
from twicetold.staged.near_stages import shards_of
from twicetold.staged.parts import parts_of
from twicetold.staged.plan import Plan, Settings
from twicetold.staged.row_stages import hashes_of


@given(count=st.integers(1, 400), share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_numbers_without_some_are_taken_by_rank(count, share, seed, tmp_path_factory):
    out = np.random.default_rng(seed).random(count) < share
    plan = Plan(tmp_path_factory.mktemp("n"), Settings(model="model", out="out"), ())
    Numbers.write(plan, "distinct", np.flatnonzero(out))
    found, rest = Numbers.read(plan, "distinct"), np.flatnonzero(~out)
    np.testing.assert_array_equal(found.numbers(np.arange(len(rest))), rest)


@pytest.mark.parametrize("distinct", [60_000, 1_000_000, 100_000_000])
def test_what_goes_to_a_shard_fits_into_the_memory_of_a_task(distinct):
    settings = Settings(model="model", out="out", memory=600_000_000)
    plan = with_shards(Plan(Path(), settings, (), (0, distinct), distinct, 256))
    once, held = distinct * (4 * 256 + 16 * PROBES), HELD * settings.memory
    assert copies(plan.shards) * once / plan.shards <= held
    assert 1 <= copies(plan.shards) <= PROBES
    assert plan.shards == 1 or copies(plan.shards - 1) * once > held * (plan.shards - 1)


def test_there_are_no_more_shards_than_cells():
    settings = Settings(model="model", out="out", memory=1_000_000)
    plan = with_shards(Plan(Path(), settings, (), (0, 100_000), 100_000, 256))
    assert plan.shards == 316


@given(cells=st.integers(1, 60), shards=st.integers(1, 12), seed=st.integers(0, 100))
def test_each_shard_has_cells_of_about_equal_weight(cells, shards, seed):
    rng = np.random.default_rng(seed)
    weights = rng.random(cells)
    found = shards_of(rng.normal(size=(cells, 5)).astype(np.float32), weights, shards)
    assert sorted(set(found.tolist())) == list(range(min(shards, cells)))
    assert np.bincount(found, weights).max() <= weights.sum() / min(shards, cells) + 4 * weights.max()


def test_cells_next_to_each_other_are_in_one_shard():
    centres = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32) + np.repeat(np.eye(2) * 50, 32, axis=0)
    found = shards_of(centres.astype(np.float32), np.ones(64), 2)
    assert len(set(found[:32].tolist())) == len(set(found[32:].tolist())) == 1


def test_parts_are_known_by_their_suffixes_however_these_are_spelt(tmp_path):
    for name in ("a.csv", "b.CSV.GZ", "c.Jsonl.zst", "_d.csv", "e.gz"):
        (tmp_path / name).touch()
    assert [part.name for part in parts_of(tmp_path)] == ["a.csv", "b.CSV.GZ", "c.Jsonl.zst"]


def test_texts_that_are_equal_in_their_normal_form_are_copies():
    texts = [
        "Crème brûlée",
        "L’élève préféré",
        "Một ngày đẹp",
        "한국어 문장",
        "Größe ändern",
        "Ｆｕｌｌ ｗｉｄｔｈ",
        "Straße",
    ]
    assert hashes_of(texts) == hashes_of([normalize("NFD", f" {text.upper()}") for text in texts])
    assert len(set(hashes_of([*texts, "C++ pages", "C# pages", "👍", "👎"]))) == 11


def test_files_that_are_no_parts_are_named_and_folders_are_refused(tmp_path):
    for name in ("a.csv", "b.csv.bz2", "part-0001", "_SUCCESS", ".a.csv.crc"):
        (tmp_path / name).touch()
    (tmp_path / "_logs").mkdir()
    told = []
    assert [part.name for part in parts_of(tmp_path, told.append)] == ["a.csv"]
    assert [line.partition(", .xlsx: ")[2] for line in told] == ["b.csv.bz2, part-0001"]
    for year in range(2019, 2025):
        (tmp_path / f"year={year}").mkdir()
    with pytest.raises(ValueError, match=r"the folders year=2019, .*, year=2023, and 1 more: put the parts, or links"):
        parts_of(tmp_path)

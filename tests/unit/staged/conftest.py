"""Folders of parts, and a dedupe of one."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twicetold import layout
from twicetold.matching import candidates, comparison
from twicetold.neighbours import cells
from twicetold.staged import folder_dedupe, pair_stages, plan, term_stages
from twicetold.staged.launch import here
from twicetold.staged.plan import Settings

WORDS = "bank rate cut film drug trial phone star vote game chip tax law gas ship road".split()


@pytest.fixture
def run(run):
    """Makes the run folder of a model: `static`, unless another family is asked for."""
    return lambda family="static": run(family)


@pytest.fixture
def many():
    """700 texts, of which some are copies with a word more or less, and some are equal but for case."""
    rng = np.random.default_rng(0)
    found = [" ".join(rng.choice(WORDS, rng.integers(3, 7))) for _ in range(500)]
    for text in [found[number] for number in rng.integers(0, 500, 200)]:
        way = rng.integers(3)
        found.append([f"{text} {rng.choice(WORDS)}", text.upper(), " ".join(text.split()[1:])][way])
    return [found[number] for number in rng.permutation(len(found))]


@pytest.fixture
def parts(tmp_path):
    """Writes texts in so many parts."""

    def _parts(texts, count, name="in"):
        folder = tmp_path / f"{name}{count}"
        folder.mkdir()
        bounds = np.linspace(0, len(texts), count + 1).round().astype(int)
        for number, (start, stop) in enumerate(pairwise(bounds)):
            table = pa.table({"n": np.arange(start, stop), "text": texts[start:stop]})
            pq.write_table(table, folder / f"part-{number}.parquet")
        return folder

    return _parts


@pytest.fixture
def deduped(tmp_path):
    """Dedupes a folder and gives what was found, and the rows that were written."""

    def _deduped(model, folder, out="out", *, launch=here, progress=lambda _: None, **options):
        settings = Settings(model=f"{model / layout.MODEL}" if model else "", out=f"{tmp_path / out}", **options)
        found = folder_dedupe.dedupe_folder(folder, settings, launch, progress=progress)
        return found, pa.concat_tables(map(pq.read_table, sorted((tmp_path / out).glob("*.parquet"))))

    return _deduped


@pytest.fixture
def small(monkeypatch):
    """Few texts go the way of many: several blocks, buckets, postings and shards."""
    monkeypatch.setattr(plan, "BUCKET", 200)
    monkeypatch.setattr(cells, "PART", 128)
    for module in (candidates, comparison):
        monkeypatch.setattr(module, "EXACT", 100)
    monkeypatch.setattr(term_stages, "POSTED", 300)
    monkeypatch.setattr(pair_stages, "BLOCK", 1000)
    return {"memory": 1_000_000, "block": 128}

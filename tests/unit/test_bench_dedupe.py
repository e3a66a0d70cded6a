"""`benchmarks/bench_dedupe.py`: what it measures, on few texts."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delenv("TWICETOLD_MIRROR", raising=False)
    dedupe = importlib.import_module("bench_dedupe")
    monkeypatch.setattr(dedupe.torch, "set_num_threads", lambda _: None)
    return dedupe


def test_further_texts_resemble_the_first_ones_and_a_tenth_is_like_one_of_them(bench, monkeypatch):
    monkeypatch.setattr(bench, "SOURCE", 300)
    texts = bench.texts_for(1300)
    assert len(texts) == 1300
    source = [text.split() for text in texts[:300]]
    words = {word for text in source for word in text}
    assert {word for text in texts for word in text.split()} <= words
    near = 0
    for text in map(str.split, texts[300:]):
        others = min(sum(map(str.__ne__, text, one)) for one in source if len(one) == len(text))
        near += others <= 1
    assert 0.05 < near / 1000 < 0.4


@pytest.mark.parametrize("way", ["static", "tfidf", "fitted, lexical", "faiss, exact", "faiss, cells", "pairs"])
def test_each_way_gives_seconds_memory_and_what_it_found(way, bench):
    took = bench.measured(way, 400)
    assert took.texts == 400
    assert took.cpu > 0
    assert took.peak > 0
    assert took.found
    steps = {"looking", "searching", "grouping"}
    first = {"static": {"encoding"}, "tfidf": {"encoding"}, "fitted, lexical": {"fitting"}}
    assert set(took.steps) == (steps | first[way] if way in first else set())


def test_a_small_way_is_left_out_of_large_sizes(bench):
    assert bench.ways_of(bench.SMALL + 1, ("static", "faiss, exact")) == ["static"]


def test_the_table_has_the_exponent_of_each_way(bench):
    results = [bench.Took("static", n, 1.0, (n / 1000) ** 1.5, 1.0, "") for n in (1000, 2000, 4000)]
    seconds, ratios = bench.table([*results, bench.Took("tfidf", 2000, 1.0, 1.0, 1.0, "")]).split("\n\n")
    assert seconds.splitlines()[2].endswith("| 1.50 |")
    assert ratios.splitlines()[-1] == f"| tfidf | – | {2**-1.5:.2f} | – |"

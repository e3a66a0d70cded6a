"""`benchmarks/bench_dedupe.py` and `bench_rerank.py`: what they measure, on few texts."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delenv("TWICETOLD_MIRROR", raising=False)
    dedupe = importlib.import_module("bench_dedupe")
    monkeypatch.setattr(dedupe.torch, "set_num_threads", lambda _: None)
    return dedupe


@pytest.fixture
def rerank(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("bench_rerank")


def test_an_eighth_of_the_texts_is_the_source_and_the_rest_are_copies(bench):
    texts = bench.texts_for(80)
    assert len(texts) == 80
    source = texts[:10]
    assert all(len(text.split()) == len(copy.split()) for text, copy in zip(source, texts[10:20], strict=True))
    assert source != texts[10:20]


@pytest.mark.parametrize("way", ["static", "tfidf", "faiss, exact", "faiss, cells", "pairs"])
def test_each_way_gives_seconds_memory_and_what_it_found(way, bench):
    took = bench.measured(way, 400)
    assert took.texts == 400
    assert took.cpu > 0
    assert took.peak > 0
    assert took.found
    assert set(took.steps) == (
        {"looking", "encoding", "searching", "grouping"} if way in ("static", "tfidf") else set()
    )


def test_a_small_way_is_left_out_of_large_sizes(bench):
    assert bench.ways_of(bench.SMALL + 1, ("static", "faiss, exact")) == ["static"]


def test_the_table_has_the_exponent_of_each_way(bench):
    results = [bench.Took("static", n, 1.0, (n / 1000) ** 1.5, 1.0, "") for n in (1000, 2000, 4000)]
    assert bench.table(results).endswith("| 1.50 |")


def test_the_threshold_counts_duplicates_that_were_not_found(rerank):
    rng = np.random.default_rng(0)
    score, same = rng.normal(size=(20, 5)), rng.random((20, 5)) < 0.3
    score[0, 0] = -np.inf
    duplicates = int(same.sum()) + 10
    chosen = rerank.best_threshold(score, same, duplicates)

    def f1(threshold):
        called = score >= threshold
        return 2 * (called & same).sum() / (called.sum() + duplicates)

    assert f1(chosen) == max(f1(value) for value in score[np.isfinite(score)])


def test_more_neighbours_find_more_and_a_perfect_reranker_is_right(rerank):
    rng = np.random.default_rng(1)
    same = rng.random((30, 100)) < 0.1
    near = -np.sort(rng.random((30, 100)))
    asked = rerank.Asked(
        same,
        near,
        same * 2.0 - 1,
        int(same.sum()),
        0.1,
        tuple(map(float, rerank.REACHES)),
        (rerank.Decision(0.0, 1.0, 0.0), rerank.Decision(0.0, 100.0, 0.0)),
    )
    rows = list(rerank.rows(asked, asked))
    for way in ("re-ranker", "both"):
        of_way = [row for row in rows if row.way == way]
        assert [row.found for row in of_way] == sorted(row.found for row in of_way)
        assert of_way[-1].found == of_way[-1].recall == 1
        assert all(row.precision == 1 for row in of_way)
        assert [row.ms for row in of_way] == [0.1 + k for k in rerank.REACHES]
    assert rerank.table(rows).count("\n") == 1 + len(rows)


def test_without_trained_models_it_says_what_is_missing(rerank, tmp_path, capsys):
    rerank.main(["--runs", str(tmp_path), "--processed", str(tmp_path)])
    assert "there is no" in capsys.readouterr().out

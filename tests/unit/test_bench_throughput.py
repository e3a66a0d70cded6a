"""`benchmarks/bench_throughput.py`: what it encodes with, and what it says of peers that are not there."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """The script, in a place without peers and without a mirror."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delenv("TWICETOLD_MIRROR", raising=False)
    for peer in ("model2vec", "wordllama"):
        monkeypatch.setitem(sys.modules, peer, None)
    return importlib.import_module("bench_throughput")


@pytest.mark.parametrize("name", ["static", "dssm", "siamese_lstm"])
def test_a_family_gives_a_row_for_each_text_and_the_same_whichever_others_are_encoded(name, bench):
    texts, what = bench.texts_of(40)
    encode = bench.family(name, texts)
    whole = encode(texts)
    assert what == "generated questions"
    assert len(whole) == 40
    np.testing.assert_allclose(encode(texts[:3]), whole[:3], atol=1e-5)


def test_peers_that_are_not_installed_are_left_out_with_the_way_to_get_them(bench, monkeypatch, capsys):
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")  # so that what it sets for this process is undone
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setattr(bench.torch, "set_num_threads", lambda threads: None)
    monkeypatch.setattr(bench, "FAMILIES", ("static",))
    monkeypatch.setattr(bench, "SIZES", {"quick": (30, 50, 1)})
    bench.main(["--quick"])
    out = capsys.readouterr().out
    assert re.search(r"^  static +256 +[\d,]+ +[\d,]+ +1\.000x$", out, re.MULTILINE)
    for peer in ("model2vec", "WordLlama"):
        assert f"without {peer}: not installed: pip install -e '.[bench]'" in out


def test_rates_are_texts_by_seconds(bench):
    ((clock, _),) = bench.rates_of({"slow": lambda texts: bench.time.sleep(0.02)}, ["a"] * 10, rounds=3).values()
    assert 100 < clock <= 500

"""Each benchmark runs to its end on a few texts, and ends in an error where ways that it compares do other work."""

import os
import subprocess

import pytest

import scripts
from fork_server import forks

TINY = {
    "dedupe": ("--texts=300", "--pairs=100", "--ways=tfidf;faiss, cells"),
    "objectives": ("--quick", "--sizes=16"),
    "search": ("--texts=2000", "--dimensions=16"),
    "shapes": ("--rows=200", "--shape=few words"),
    "sequences": ("--quick", "--texts=500", "--pairs=300"),
    "staged": ("--texts=300", "--workers=1"),
    "throughput": ("--quick", "--texts=400"),
    "training": ("--quick", "--headlines=300"),
}
BENCHMARKS = {path.stem.removeprefix("bench_"): path for path in sorted(scripts.ROOT.glob("benchmarks/bench_*.py"))}


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_to_its_end_and_times_by_the_processor(name):
    """About 30 s of one core in sum."""
    assert not [clock for clock in ("perf_counter", "monotonic", "time.time") if clock in BENCHMARKS[name].read_text()]
    environment = {**os.environ, "PYTHONPATH": f"{scripts.ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    environment.pop("TWICETOLD_MIRROR", None)
    line = [forks().python / "python", BENCHMARKS[name], *TINY[name]]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_losses_that_differ_are_not_compared(monkeypatch):
    script = scripts.script("benchmarks/bench_objectives.py")
    monkeypatch.setattr(script, "dense", lambda anchor, positive, group: 2 * (anchor * positive).sum())
    with pytest.raises(AssertionError, match="not close"):
        script.compare(16, ("twicetold", "dense"), 1)


def test_an_exact_search_that_misses_neighbours_is_not_compared(monkeypatch):
    script = scripts.script("benchmarks/bench_search.py")
    first = lambda texts: lambda queries: script.np.zeros((len(queries), script.NEAREST), int)  # noqa: E731
    monkeypatch.setattr(script, "part_of_an_index", first)
    with pytest.raises(AssertionError, match=r"exact, index folder finds 0\.\d+ of the nearest"):
        script.main(["--texts=500", "--dimensions=8"])

"""How much faster word hashing is than scikit-learn's character n-grams: on CPU, as ratios in one run.

    python benchmarks/bench_hashing.py [--quick] [--texts N]

The texts are synthetic questions of about 11 words, drawn by Zipf's law from 40,000 words of letters by their frequency
in English.

1. Letter trigrams of the same texts, learnt and then counted:
   - `twicetold`: `WordHashing(letters=3)`.
   - `scikit-learn`: `CountVectorizer(analyzer="char_wb", ngram_range=(3, 3))`. On these texts its counts are the same.
2. `twicetold` alone on N texts, a million by default, with the memory that it takes beside its result.

Runs take turns; shown are medians.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from twicetold.features.word_hashing import WordHashing
from twicetold.features.word_trigrams import WordTrigrams

WORDS, LENGTH = 40_000, 11
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
SHARES = [
    127,
    91,
    82,
    75,
    70,
    67,
    63,
    61,
    60,
    43,
    40,
    28,
    28,
    24,
    24,
    22,
    20,
    20,
    19,
    15,
    10,
    8,
    2,
    2,
    1,
    1,
]  # per mille

Vectorizer = Any
"""Something with `fit` and `transform`."""


def questions(count: int) -> list[str]:
    """Synthetic questions."""
    rng = np.random.default_rng(0)
    lengths = 1 + rng.poisson(4, WORDS)
    letters = "".join(rng.choice(list(LETTERS), lengths.sum(), p=np.array(SHARES) / sum(SHARES)))
    ends = np.cumsum(lengths)
    words = [letters[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    chance = 1 / np.arange(1, WORDS + 1)
    lengths = 1 + rng.poisson(LENGTH - 1, count)
    chosen = np.array(words)[rng.choice(WORDS, lengths.sum(), p=chance / chance.sum())].tolist()
    ends = np.cumsum(lengths)
    return [
        " ".join(chosen[end - length : end]).capitalize() + "?"
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]


def seconds(run: Callable[[], object]) -> float:
    """What it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(ways: Mapping[str, Vectorizer], texts: list[str], rounds: int) -> None:
    """Learn and count in turns, and print a table; ratios are to the last way."""
    taken: dict[tuple[str, str], list[float]] = {(way, step): [] for way in ways for step in ("fit", "transform")}
    for _ in range(rounds):
        for way, vectorizer in ways.items():
            taken[way, "fit"].append(seconds(lambda v=vectorizer: v.fit(texts)))  # type: ignore[misc]
            taken[way, "transform"].append(seconds(lambda v=vectorizer: v.transform(texts)))  # type: ignore[misc]
    found = {key: statistics.median(times) for key, times in taken.items()}
    print(
        f"\nletter trigrams of {len(texts):,} texts\n  {'way':<13}{'step':<10}{'time':>9}{'texts/s':>12}{'faster':>9}"
    )
    last = list(ways)[-1]
    for (way, step), time_taken in found.items():
        rate, ratio = len(texts) / time_taken, found[last, step] / time_taken
        print(f"  {way:<13}{step:<10}{time_taken:>7.3f} s{rate:>12,.0f}{ratio:>8.1f}x", flush=True)


def difference(ways: Mapping[str, Vectorizer], texts: list[str]) -> int:
    """Number of cells in which the two ways differ."""
    ours, theirs = (vectorizer.transform(texts) for vectorizer in ways.values())
    names = [name.replace(" ", "#") for name in ways["scikit-learn"].get_feature_names_out()]
    theirs = theirs[:, np.argsort(names)].tocsr()
    theirs.sort_indices()
    same = np.array_equal(ours.indices, theirs.indices) and np.array_equal(ours.indptr, theirs.indptr)
    return int((ours.values != theirs.data).sum()) if same else theirs.nnz


def alone(name: str, vectorizer: Vectorizer, texts: list[str]) -> None:
    """Count in one go; print speed, and the peak of memory beside the result."""
    taken = seconds(lambda: vectorizer.transform(texts))
    tracemalloc.start()
    rows = vectorizer.transform(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = sum(part.nbytes for part in (rows.indptr, rows.indices, rows.values) if part is not None)
    print(
        f"  {name:<13}{taken:>7.2f} s{len(texts) / taken:>12,.0f} texts/s   "
        f"result {result / 2**20:,.0f} MiB, at the peak {peak / result:.1f} times that",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the texts")
    parser.add_argument("--texts", type=int, default=1_000_000, help="for the run of twicetold alone")
    parser.add_argument("--threads", type=int, help="taken for the sake of make bench; nothing here uses threads")
    options = parser.parse_args(arguments)
    count = options.texts // 20 if options.quick else options.texts
    texts = questions(count)
    ways = {
        "twicetold": WordHashing(letters=3),
        "scikit-learn": CountVectorizer(analyzer="char_wb", ngram_range=(3, 3)),
    }
    some = [text.rstrip("?") for text in texts[:50_000]]  # char_wb would take the mark for a letter
    compare(ways, some, rounds=3)
    print(f"  cells in which the counts differ: {difference(ways, some)}")
    print(f"\ntwicetold on {count:,} texts")
    alone("trigrams", ways["twicetold"], texts)
    alone("with words", WordHashing(letters=3, words=2, max_features=30_000).fit(some), texts)
    alone("by word", WordTrigrams().fit(some), texts)


if __name__ == "__main__":
    main()

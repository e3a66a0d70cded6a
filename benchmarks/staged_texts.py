"""Texts for a staged dedupe, as many as asked for: of realistic density, in parts.

A text is the first half of a question and the second half of another one, so two texts share words as real ones do,
and nine of ten are like no other one. The tenth is in groups of two or more, whose sizes have a heavy tail (Pareto's,
with exponent 1.5): copies in which one to three words are left out, changed by a letter, or moved.

Questions are those of Quora where `TWICETOLD_MIRROR` is a folder that has them. Generated ones are so alike that links
grow with the square of their number: they do for a few thousand texts.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench_throughput import texts_of

AT_ONCE = 50_000  # texts that are made and shuffled at a time
SHARE, TAIL = 0.1, 1.5  # of texts in groups, and Pareto's exponent of their sizes
LARGEST = 500
LETTERS = "etaoinshrdlu"


def generate(count: int, *, seed: int = 0) -> Iterator[tuple[list[str], list[int]]]:
    """Texts and the group of each, in blocks."""
    source, _ = texts_of(min(200_000, 2 * count))
    words = [text.split() for text in source if text]
    made = groups = 0
    number = 0
    while made < count:
        rng = np.random.default_rng([seed, number])
        some = min(AT_ONCE, count - made)
        texts, group = _block(words, some, rng)
        yield texts, [each + groups for each in group]
        made, groups, number = made + some, groups + some, number + 1


def _block(words: Sequence[list[str]], count: int, rng: np.random.Generator) -> tuple[list[str], list[int]]:
    sizes: list[int] = []
    left = round(SHARE * count)
    while left > 1:
        size = min(left, LARGEST, 1 + int(np.ceil(rng.pareto(TAIL))))
        sizes.append(max(2, size))
        left -= sizes[-1]
    sizes += [1] * (count - sum(sizes))
    texts, group = [], []
    halves = rng.integers(0, len(words), (len(sizes), 2))
    for number, (size, (one, other)) in enumerate(zip(sizes, halves.tolist(), strict=True)):
        base = words[one][: -(-len(words[one]) // 2)] + words[other][len(words[other]) // 2 :]
        texts.append(" ".join(base))
        texts += [" ".join(_altered(base, rng)) for _ in range(size - 1)]
        group += [number] * size
    order = rng.permutation(len(texts)).tolist()
    return [texts[place] for place in order], [group[place] for place in order]


def _altered(words: Sequence[str], rng: np.random.Generator) -> list[str]:
    found = list(words)
    for _ in range(rng.integers(1, 4)):
        place, way = int(rng.integers(len(found))), int(rng.integers(3))
        if way == 0 and len(found) > 3:
            del found[place]
        elif way == 1:
            word = found[place]
            at = int(rng.integers(len(word)))
            found[place] = word[:at] + LETTERS[int(rng.integers(len(LETTERS)))] + word[at + 1 :]
        else:
            found.insert(int(rng.integers(len(found))), found.pop(place))
    return found


def write_parts(folder: Path, count: int, parts: int, *, seed: int = 0) -> None:
    """Write texts with their groups (`story`) to Parquet parts of about equal size."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds = np.linspace(0, count, parts + 1).round().astype(int).tolist()
    waiting, number = pa.table({"text": pa.array([], pa.string()), "story": pa.array([], pa.int64())}), 0
    done = 0
    for texts, group in generate(count, seed=seed):
        waiting = pa.concat_tables([waiting, pa.table({"text": texts, "story": pa.array(group, pa.int64())})])
        done += len(texts)
        while number < parts and done >= bounds[number + 1]:
            size = bounds[number + 1] - bounds[number]
            pq.write_table(waiting.slice(0, size), folder / f"part-{number:05}.parquet")
            waiting, number = waiting.slice(size), number + 1

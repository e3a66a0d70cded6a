"""The exponent of unrelated pairs by which a threshold is guessed for static vectors: `guess_exponent.py FOLDER...`.

    python tools/guess_exponent.py data/pretrained/wordllama data/pretrained/potion

Files are made from the prepared corpora `uci_news` and `quora_disjoint`: validation, a quarter of it, and train texts,
one of each group, of which some are there again misspelt. Test is not read. For each exponent the loss is the best
adjusted Rand index (ARI) of any threshold less that of the guess. `evaluation.unlabelled` says what the exponent is
for.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from make_examples import again

from twicetold.data.corpus import Corpus
from twicetold.dedupe.near import near_pairs
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.unlabelled import LEAST, Bulk, guess
from twicetold.neighbours.grouping import Ints, Links, merge
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.duplicates import duplicate_groups
from twicetold.trained.fitted import sampled_similarities
from twicetold.trained.fitted_static import FittedStatic
from twicetold.trained.vectors import search_vectors

DATA = ("uci_news", "quora_disjoint")
CLASSES = ("category",)  # groups of which texts are no duplicates
EXPONENTS = np.arange(0.6, 1.61, 0.05)
AT = (2, 3, 4, 5, 6, 8)  # x at which unrelated pairs are counted
TEXTS, AGAIN = 2_500, 0.4  # of a file with misspelt copies: at most so many originals, and which share is there again


@dataclass(frozen=True)
class File:
    """Texts of a kind, and the (n,) group of each."""

    kind: str
    texts: Sequence[str]
    codes: Ints


@dataclass(frozen=True)
class Measured:
    """What the exponents give of a file.

    Args:
        best: the highest ARI of any threshold.
        thresholds: guessed, by exponent.
        ari: of their groups.
        unrelated: decimal logarithm of the share of pairs of different groups from each of `AT` on.
    """

    best: float
    thresholds: Sequence[float]
    ari: Sequence[float]
    unrelated: Sequence[float]

    @property
    def loss(self) -> np.ndarray:
        """By exponent."""
        return self.best - np.array(self.ari)


def main() -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--processed", type=Path, default=Path("data/processed"))
    given = parser.parse_args()
    found: dict[tuple[str, str], dict[str, Measured]] = {}
    print("| vectors | file | texts | best |" + "".join(f" {each:.2f} |" for each in EXPONENTS))
    print("|---|---|---:|---:|" + "---:|" * len(EXPONENTS), flush=True)
    for data in DATA:
        for file in files_of(Corpus.load(given.processed / data), data):
            for folder in given.folders:
                fitted = FittedStatic.to(file.texts, folder)
                one = measured(search_vectors(fitted.scorer, file.texts)[0], file)
                found.setdefault((folder.name, data), {})[file.kind] = one
                cells = (f" {at:.2f}: {ari:.3f} |" for at, ari in zip(one.thresholds, one.ari, strict=True))
                print(
                    f"| {folder.name} | {file.kind} | {len(file.texts):,} | {one.best:.3f} |{''.join(cells)}",
                    flush=True,
                )
    print("\n| vectors | file |" + "".join(f" {x} |" for x in AT) + "\n|---|---|" + "---:|" * len(AT))
    for (name, _), files in found.items():
        for kind, one in files.items():
            print(f"| {name} | {kind} |" + "".join(f" {each:.2f} |" for each in one.unrelated))
    print("\n| chosen on | exponent | mean loss elsewhere | worst loss elsewhere |\n|---|---:|---:|---:|")
    for row in left_out(found):
        print(row)


def files_of(corpus: Corpus, data: str) -> Iterator[File]:
    """The files that a corpus gives."""
    rng = np.random.default_rng(0)
    texts, codes = whole(corpus, "val")
    some = np.flatnonzero(np.isin(codes, rng.choice(np.unique(codes), len(np.unique(codes)) // 4, replace=False)))
    if len(texts) < 5_000:
        yield File(f"validation of {data}", texts, codes)
    yield File(f"a quarter of it, {data}", [texts[row] for row in some], codes[some])
    texts, codes = whole(corpus, "train")
    ones = rng.permutation(np.unique(codes, return_index=True)[1])[:TEXTS]
    copied = rng.choice(len(ones), round(AGAIN * len(ones)), replace=False)
    texts = [texts[row] for row in ones]
    yield File(
        f"misspelt copies, {data}",
        [*texts, *again([texts[row] for row in copied], rng)],
        np.concatenate([np.arange(len(ones)), copied]),
    )


def whole(corpus: Corpus, split: str) -> tuple[list[str], Ints]:
    """Distinct texts of known groups of a split."""
    found = duplicate_groups(corpus, split, classes=CLASSES)
    assert found is not None
    texts = corpus.texts_of(split)
    first = dict(zip(reversed(texts), range(len(texts) - 1, -1, -1), strict=True))
    rows = np.array(sorted(row for row in first.values() if found[1][row] >= 0))
    return [texts[row] for row in rows], found[1][rows]


def measured(vectors: Matrix, file: File) -> Measured:
    """Guess by each exponent, and group."""
    similarity, codes = sampled_similarities(vectors, file.texts), file.codes
    known = similarity[~np.isnan(similarity)]
    bulk = Bulk.of(known)
    floor = bulk.median + LEAST * (bulk.upper - bulk.median)
    near = near_pairs((vectors, vectors), floor, neighbours=20)
    links = Links.of(vectors.shape[0], near.left, near.right, near.dots)
    merges = merge(links, rule="average", threshold=floor, vectors=(vectors, vectors))
    cuts = np.unique(np.quantile(merges.similarity, np.linspace(0, 1, 150)))
    thresholds = [guess(similarity, exponent=float(each)).threshold for each in EXPONENTS]
    ari = {at: group_scores(merges.cut(at), codes).ari for at in {*cuts.tolist(), *thresholds}}
    rows = np.flatnonzero(np.isnan(similarity).any(axis=0))
    apart = similarity[codes[rows][:, None] != codes]
    at = [bulk.median + x * (bulk.upper - bulk.median) for x in AT]
    shares = [max(float((apart >= each).mean()), 1e-9) for each in at]
    return Measured(max(ari.values()), thresholds, [ari[each] for each in thresholds], np.log10(shares).tolist())


def left_out(found: Mapping[tuple[str, str], Mapping[str, Measured]]) -> Iterator[str]:
    """The best exponent of some vectors or data, by the mean plus half the worst loss, and its losses elsewhere."""
    every = {place: np.stack([one.loss for one in files.values()]) for place, files in found.items()}
    names, data = (dict.fromkeys(part) for part in zip(*every, strict=True))
    for what, place in (*((each, 1) for each in data), *((each, 0) for each in names), ("all", None)):
        chosen = [place is None or key[place] == what for key in every]
        inside, outside = (
            [loss for loss, own in zip(every.values(), chosen, strict=True) if own is side] for side in (True, False)
        )
        losses = np.concatenate(inside)
        best = int(np.argmin(losses.mean(axis=0) + losses.max(axis=0) / 2))
        judged = np.concatenate(outside or inside)[:, best]
        yield f"| {what} | {EXPONENTS[best]:.2f} | {judged.mean():.3f} | {judged.max():.3f} |"


if __name__ == "__main__":
    main()

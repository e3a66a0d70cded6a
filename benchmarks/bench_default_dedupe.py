"""`twicetold dedupe FILE` without a model beside semhash, on files of 5,000 headlines and 20,000 questions.

    python benchmarks/bench_default_dedupe.py [--data data/processed] [--only headlines,questions]

The files are of train texts: stories of `uci_news` and clusters of `quora_disjoint`, drawn whole until there are as
many. Nothing of twicetold was trained on them. WordLlama was trained on Quora's duplicates, and potion-base-8M may have
seen them. Each row is a process of its own with one thread. semhash groups with its own threshold 0.9, and its vectors
are grouped by our average linkage as well, at the threshold that `twicetold.fit` would guess from them. `best` is the
highest ARI of any threshold, which nobody without labels can know. `pip install -e '.[bench]'` installs semhash and
model2vec; potion-base-8M is in the folder that `TWICETOLD_MIRROR` names.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import peers

FILES = {"headlines": ("uci_news", 5_000), "questions": ("quora_disjoint", 20_000)}
WAYS = ("letters and words", "with vectors", "potion-base-8M", "WordLlama")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data/processed"))
    parser.add_argument("--only", default=",".join(FILES))
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        measure(given.data, *given.row)
        return
    print("| file | library | groups | threshold | ARI | B³ | best ARI | CPU s | MB |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for file in given.only.split(","):
        for way in WAYS:
            command = [sys.executable, __file__, "--data", str(given.data), "--row", file, way]
            subprocess.run(command, check=False, env={**os.environ, **ONE_THREAD})


def measure(data: Path, file: str, way: str) -> None:
    """Print the rows of one way of comparing."""
    texts, codes = texts_of(data, *FILES[file])
    import torch

    torch.set_num_threads(1)
    start = time.process_time()
    if way in WAYS[:2]:
        vectors, groups, threshold = ours(texts, way)
        row(file, "twicetold", f"{way}, average linkage", threshold, groups, codes, vectors, start)
        return
    name, encode = peers.potion() if way == "potion-base-8M" else peers.wordllama()
    peer = peers.semhash(name, encode)
    groups = peer.dedupe(texts, peers.SEMHASH).group
    row(file, name, "semhash's own", peers.SEMHASH, groups, codes, None, start)
    start = time.process_time()
    vectors = peer.rows(texts)
    threshold, groups = average_linkage(vectors, texts)
    row(file, name, "average linkage", threshold, groups, codes, vectors, start)


def texts_of(data: Path, corpus: str, count: int) -> tuple[list[str], Any]:
    """Train texts of whole groups, and their groups."""
    from twicetold.data.corpus import Corpus
    from twicetold.trained.duplicates import duplicate_groups

    read = Corpus.load(data / corpus)
    found = duplicate_groups(read, "train", classes=("category",))
    assert found is not None
    codes = found[1]
    place = np.random.default_rng(0).permutation(codes.max() + 1)[codes]
    chosen = np.sort(np.argsort(place, kind="stable")[:count])
    texts = read.texts_of("train")
    return [texts[row] for row in chosen], codes[chosen]


def ours(texts: list[str], way: str) -> tuple[Any, Any, float]:
    """Vectors, groups and the threshold of `twicetold.fit`."""
    import twicetold

    model = twicetold.fit(texts, lexical=way == WAYS[0])
    found = model.dedupe(texts)
    return model.encode(texts), found.group, found.summary.threshold


def average_linkage(vectors: Any, texts: list[str]) -> tuple[float, Any]:
    """The guessed threshold, and the groups."""
    from twicetold.evaluation.unlabelled import guess
    from twicetold.trained.fitted import sampled_similarities
    from twicetold.trained.given_vectors import EXPONENT

    threshold = guess(sampled_similarities(vectors, texts), exponent=EXPONENT).threshold
    return threshold, merges(vectors, threshold).cut(threshold)


def merges(vectors: Any, least: float) -> Any:
    """Of average linkage."""
    from twicetold.dedupe.near import near_pairs
    from twicetold.neighbours.grouping import Links, merge

    near = near_pairs((vectors, vectors), least, neighbours=20)
    links = Links.of(vectors.shape[0], near.left, near.right, near.dots)
    return merge(links, rule="average", threshold=least, vectors=(vectors, vectors))


def row(file: str, name: str, how: str, threshold: float, group: Any, codes: Any, vectors: Any, start: float) -> None:
    """Print a row; the best threshold is looked for after the time is taken."""
    from twicetold.evaluation.group_metrics import group_scores

    seconds, held = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scores, best = group_scores(group, codes), "–"
    if vectors is not None:
        found = merges(vectors, max(0.1, threshold - 0.2))
        cuts = np.unique(np.quantile(found.similarity, np.linspace(0, 1, 100)))
        best = f"{max(group_scores(found.cut(cut), codes).ari for cut in cuts):.3f}"
    print(
        f"| {file} | {name} | {how} | {threshold:.2f} | {scores.ari:.3f} | {scores.b3:.3f} | {best} | {seconds:.1f} | "
        f"{held:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""What labels of pairs tell about the threshold of groups: `measure_group_labels.py [--model RUN] toy_news=484 ...`.

Whole groups of validation texts of a prepared corpus are drawn until there are as many texts as asked for. Pairs are
drawn as `label` draws them, and answered by the known groups. For each rule of grouping: the adjusted Rand index (ARI)
at the threshold with the highest F1 of links, which `calibrate` takes; at the one with the highest F1 of labelled
pairs within one group; and at the best one. Without --model, letters and words are fitted to the texts.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse

import numpy as np

import twicetold
from twicetold.data.corpus import Corpus
from twicetold.evaluation.dedupe import links_above
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.labels.sampling import candidate_pairs, draw
from twicetold.labels.weighted import best_threshold
from twicetold.neighbours.grouping import Ints, merge, row_dots
from twicetold.neighbours.rules import RULES
from twicetold.trained.duplicates import duplicate_groups
from twicetold.trained.vectors import search_vectors

CLASSES = ("category",)  # groups of which texts are no duplicates
LABELS = (100, 200)
DRAWS = 12
LINKS = 8  # for each true pair: those of the lowest threshold that is tried
STEPS = 120  # thresholds that are tried


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="a prepared corpus and how many of its validation texts")
    parser.add_argument("--model", help="a run folder")
    parser.add_argument("--processed", type=Path, default=Path("data/processed"))
    given = parser.parse_args()
    print("| file | rule | labels | F1 of links | lowest | F1 of pairs in a group | lowest | best |")
    print("|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for file in given.files:
        name, _, count = file.partition("=")
        texts, codes = texts_of(Corpus.load(given.processed / name), int(count))
        model = twicetold.load(given.model) if given.model else twicetold.fit(texts, lexical=True)
        measure(f"{len(texts):,} of {name}", model, texts, codes)


def texts_of(corpus: Corpus, count: int) -> tuple[list[str], Ints]:
    """Distinct validation texts of whole groups, but for the last one."""
    found = duplicate_groups(corpus, "val", classes=CLASSES)
    assert found is not None
    texts, codes = corpus.texts_of("val"), found[1]
    first = dict(zip(reversed(texts), range(len(texts) - 1, -1, -1), strict=True))
    rows = np.array(sorted(row for row in first.values() if codes[row] >= 0))
    groups = np.random.default_rng(0).permutation(np.unique(codes[rows]))
    place = np.empty(codes.max() + 1, np.int64)
    place[groups] = np.arange(len(groups))
    rows = rows[np.sort(np.argsort(place[codes[rows]], kind="stable")[:count])]
    return [texts[row] for row in rows], codes[rows]


def measure(file: str, model: twicetold.Model, texts: list[str], codes: Ints) -> None:
    """Print the rows of a file."""
    vectors = search_vectors(model.trained, texts)
    candidates = candidate_pairs(model, texts)
    same = codes[candidates.left] == codes[candidates.right]
    dots = row_dots(vectors[0], candidates.left, vectors[1], candidates.right)
    sizes = np.bincount(codes)
    known = DocumentVectors(*vectors, {"group": codes})
    every = np.sort(links_above(known, 0.02).similarity)[::-1]
    links = links_above(known, float(every[min(len(every) - 1, LINKS * int((sizes * (sizes - 1) // 2).sum()))]))
    tried = np.unique(np.quantile(links.similarity, 1 - np.geomspace(20 / len(links), 1, STEPS)))
    for rule in RULES:
        merges = merge(links, rule=rule, threshold=float(links.similarity.min()), vectors=vectors)
        cuts = [merges.cut(threshold) for threshold in tried]
        ari = np.array([group_scores(cut, codes).ari for cut in cuts])
        joined = np.full(len(candidates), tried[0] - 1e-3)
        for threshold, cut in zip(tried, cuts, strict=True):
            joined[cut[candidates.left] == cut[candidates.right]] = threshold
        for labels in LABELS:
            found = []
            for seed in range(DRAWS):
                drawn = draw(candidates, model.decision, pairs=labels, seed=seed)
                weight = (drawn.sizes / np.maximum(np.bincount(drawn.band, minlength=len(drawn.sizes)), 1))[drawn.band]
                label = same[drawn.rows]
                chosen = (best_threshold(each[drawn.rows], label, weight, aim="f1") for each in (dots, joined))
                found.append([ari[min(int(np.searchsorted(tried, at)), len(tried) - 1)] for at in chosen])
            (links_mean, groups_mean), (links_least, groups_least) = np.mean(found, axis=0), np.min(found, axis=0)
            cells = (links_mean, links_least, groups_mean, groups_least, ari.max())
            print(f"| {file} | {rule} | {labels} | {' | '.join(f'{each:.3f}' for each in cells)} |", flush=True)


if __name__ == "__main__":
    main()

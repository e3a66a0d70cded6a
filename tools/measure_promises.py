"""How often files keep the precision that a model promises of links: `measure_promises.py runs/uci_news-tfidf-0`.

Groups (stories, clusters of questions) of validation and test are drawn into two halves, many times. One half is the
evidence, from which the promise is made as training makes it from validation. Files are drawn from the other half,
whose groups are unseen, or from both. For each aim: the share of draws in which a threshold is promised, and the share
of the files that keep it; then the same for the threshold with the best estimate, which was all there was before.

A model that learns has chosen its epoch on validation, so the two splits are not quite alike to it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
from dataclasses import dataclass

import numpy as np

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.evaluation.dedupe import Chosen, links_above
from twicetold.evaluation.inputs import UNKNOWN, DocumentVectors
from twicetold.evaluation.promise import Promise, promise
from twicetold.neighbours.grouping import Ints, Links
from twicetold.trained.duplicates import duplicate_groups
from twicetold.trained.model_folder import load_model, read_recipe, read_thresholds

AIMS = (0.8, 0.9, 0.95)
CLASSES = ("category",)  # groups of which texts are no duplicates
GROUP = "group"
UNSEEN = "unseen"


@dataclass(frozen=True)
class Texts:
    """Texts with groups, and the links between them."""

    codes: Ints
    links: Links

    def of(self, groups: Ints) -> "Texts":
        """The texts of some groups."""
        rows = np.flatnonzero(np.isin(self.codes, groups))
        place = np.full(len(self.codes), -1)
        place[rows] = np.arange(len(rows))
        left, right = place[self.links.left], place[self.links.right]
        both = (left >= 0) & (right >= 0)
        return Texts(self.codes[rows], Links(len(rows), left[both], right[both], self.links.similarity[both]))

    def precision(self, threshold: float) -> float:
        """Share of links from a threshold on that are right; NaN without links."""
        strong = self.links.at_least(threshold)
        return float(np.mean(self.codes[strong.left] == self.codes[strong.right])) if len(strong) else float("nan")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders of the grid")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--processed", type=Path, default=Path("data/processed"))
    chosen = parser.parse_args()
    print("| model | files | aim | limit: promised in | kept by | mean | estimate: promised in | kept by | mean |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for run in chosen.runs:
        texts = texts_of(run, chosen.processed)
        for files in (UNSEEN, "both halves"):
            for aim, cells in measured(texts, files, draws=chosen.draws).items():
                print(f"| {run.name} | {files} | {aim:g} | {' | '.join(cells)} |", flush=True)


def texts_of(run: Path, processed: Path) -> Texts:
    """The texts of validation and test with their links, from the threshold of the highest F1 on."""
    documents, chosen = documents_of(run, processed)
    return Texts(documents.groups[GROUP], links_above(documents, chosen.f1_threshold))


def documents_of(run: Path, processed: Path) -> tuple[DocumentVectors, Chosen]:
    """The texts of validation and test, whose groups are of different codes, and what was chosen on validation.

    Raises:
        ValueError: if the model has no thresholds over all pairs, or a split has no groups of duplicates.
    """
    folder = run / layout.MODEL
    data = read_recipe(folder)["data"]["name"]
    corpus, model, thresholds = Corpus.load(processed / data), load_model(folder), read_thresholds(folder)
    if thresholds is None:
        raise ValueError(f"{folder} has no {layout.PRECISION}: its links were not measured over all pairs")
    rows, codes, first = [], [], 0
    for split in ("val", "test"):
        if (found := duplicate_groups(corpus, split, classes=CLASSES)) is None:
            raise ValueError(f"{data}: {split} has no groups of texts that say the same")
        known = found[1] != UNKNOWN
        rows.append(corpus.members[split][known])
        codes.append(np.unique(found[1][known], return_inverse=True)[1] + first)
        first = int(codes[-1].max()) + 1
    every, group = np.concatenate(rows), np.concatenate(codes)
    texts = corpus.texts.take(every).to_pylist()
    vectors = model.read(texts).search_matrices(np.arange(len(texts)))
    return DocumentVectors(*vectors, {GROUP: group}), thresholds


def measured(texts: Texts, files: str, *, draws: int) -> dict[float, list[str]]:
    """Aim -> cells of the table."""
    groups, rng = np.unique(texts.codes), np.random.default_rng(0)
    kept: dict[float, list[float]] = {aim: [] for aim in AIMS}
    estimated: dict[float, list[float]] = {aim: [] for aim in AIMS}
    for draw in range(draws):
        order = rng.permutation(groups)
        known, unseen = order[: len(order) // 2], order[len(order) // 2 :]
        evidence = texts.of(known)
        file = texts.of(unseen if files == UNSEEN else rng.permutation(groups)[: len(unseen)])
        promised = promise(evidence.codes, evidence.links, seed=draw)
        for aim in AIMS:
            if (least := promised.reaching(aim, len(file.codes))) is not None:
                kept[aim].append(file.precision(least.threshold))
            if (best := best_estimate(promised, aim)) is not None:
                estimated[aim].append(file.precision(best))
    return {aim: [*_cells(kept[aim], aim, draws), *_cells(estimated[aim], aim, draws)] for aim in AIMS}


def best_estimate(known: Promise, aim: float) -> float | None:
    """The lowest threshold whose links have the precision on the evidence itself."""
    return min((each.threshold for each in known.at if each.precision >= aim), default=None)


def _cells(found: list[float], aim: float, draws: int) -> list[str]:
    precisions = np.array(found)[~np.isnan(found)] if found else np.empty(0)
    if not len(precisions):
        return ["0 %", "–", "–"]
    return [f"{len(precisions) / draws:.0%}", f"{np.mean(precisions >= aim):.0%}", f"{precisions.mean():.3f}"]


if __name__ == "__main__":
    main()

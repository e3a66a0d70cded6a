#!/usr/bin/env python
"""How often should a sentence be missing from its evidence? Masking rate of the inverse cloze task against recall.

Lee et al., Latent Retrieval for Weakly Supervised Open Domain Question Answering (ORQA), ACL 2019, figure 5, on
validation: each sentence of an article looks for the other articles of the same story, as a query among documents.
Recall at k is the share of sentences that find one of them among the first k; the sentence's own article is left out.
`tfidf` stands beside it.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from gpu_check import TOP, prepare, train
from hydra import compose, initialize_config_dir
from scipy.sparse import issparse

from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.examples.positives import sentences_of
from twicetold.neighbours.nearest import Matrix
from twicetold.trained.neural import matrix_of
from twicetold.training.cell import Trained

AT = (1, 5, 20)


def main(arguments: list[str]) -> None:
    """Train at each rate and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="toy_articles", help="a dataset of conf/data with stories and long texts")
    parser.add_argument("--rates", nargs="+", type=float, default=[0.0, 0.5, 0.8, 0.9, 1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--overrides", nargs="*", default=[], help="Hydra overrides, say trainer.epochs=30")
    asked = parser.parse_args(arguments)
    prepare(asked.data)
    print(f"{asked.data}: recall on validation, mean over seeds {', '.join(map(str, asked.seeds))}")
    print("masking rate  " + "".join(f"at {k}".rjust(8) for k in AT))
    rows = {"tfidf": [recall(asked.data, ["model=tfidf"])]}
    for rate in asked.rates:
        chosen = ["model=ict", f"examples.masking_rate={rate}", *asked.overrides]
        rows[str(rate)] = [recall(asked.data, [*chosen, f"seed={seed}"]) for seed in asked.seeds]
        print(row(str(rate), rows[str(rate)]), flush=True)
    print(row("tfidf", rows["tfidf"]))


def row(name: str, found: list[list[float]]) -> str:
    """A line of the table."""
    return name.ljust(14) + "".join(f"{value:8.3f}" for value in np.mean(found, axis=0))


def recall(data: str, overrides: list[str]) -> list[float]:
    """Recall at each of `AT` of a family trained with these overrides."""
    with initialize_config_dir(str(TOP / "conf"), version_base="1.3"):
        cfg = compose("train", [f"data={data}", "evaluator.primary.documents=auroc_story", *overrides])
    corpus = Corpus.load(Path(cfg.paths.processed, data))
    return found_at(train(cfg, corpus, accelerator="cpu"), corpus)


def found_at(trained: Trained, corpus: Corpus) -> list[float]:
    """Share of the sentences of validation that find their story, at each of `AT`."""
    texts, story = corpus.texts_of("val"), corpus.groups["story"][corpus.members["val"]]
    parts = [sentences_of(text) for text in texts]
    own = np.repeat(np.arange(len(texts)), [len(sentences) for sentences in parts])
    queries = vectors(trained, [sentence for sentences in parts for sentence in sentences], role="query")
    scores = queries @ vectors(trained, texts, role="document").T
    scores = scores.toarray() if issparse(scores) else scores
    scores[np.arange(len(own)), own] = -np.inf
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, : max(AT)]
    right = story[ranked] == story[own][:, None]
    several = np.bincount(story)[story[own]] > 1  # others have nothing to find
    return [float(right[several, :k].any(1).mean()) for k in AT]


def vectors(trained: Trained, texts: list[str], *, role: str) -> Matrix:
    """Search vectors of the texts as queries or as documents."""
    rows = trained.scorer.featuriser.transform(texts).gather(np.arange(len(texts)))
    encoder = trained.scorer.encoder
    with torch.no_grad():
        found = encoder.eval().search_vectors(encoder.encode(rows))[role == "document"]
    return matrix_of(found)


if __name__ == "__main__":
    with readable_errors():
        main(sys.argv[1:])

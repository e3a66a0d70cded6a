"""Group a split's documents by topic and find related ones, with a trained model, and compare with their labels.

Usage: python pipelines/topics.py run=<run folder> [split=<split>] [<key>=<value> ...]

Examples:
    python pipelines/topics.py run=runs/toy_news-tfidf-0
    python pipelines/topics.py run=runs/uci_news-static_story-0 split=val

It follows a training, and writes topics.json and related.json to the run folder. The texts are those of test, or of
another split.
"""

import checkout  # noqa: F401 (for its effects)

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pyarrow as pa
from omegaconf import DictConfig, OmegaConf

from twicetold import layout
from twicetold.errors import readable_errors
from twicetold.evaluation.inputs import finest_clusters
from twicetold.files import write_json
from twicetold.printable import print
from twicetold.topics.near_copies import word_sets
from twicetold.trained.model_folder import load_model, recipes, trained_on
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.data.sources.uci_news import publication_days
from twicetold_lab.grid.code_identity import code_now
from twicetold_lab.grid.settings import check_settings, run_script
from twicetold_lab.scoring.model_checks import require_trained_on
from twicetold_lab.topics import RELATED, TOPICS
from twicetold_lab.topics.measured import measure_topics
from twicetold_lab.topics.related import Articles, related


@hydra.main(version_base="1.3", config_path="../conf", config_name="topics")
def main(cfg: DictConfig) -> None:
    with readable_errors():
        check_settings(cfg)
        run = Path(cfg.run)
        corpus = documents_of(run, cfg)
        code_now("topics", OmegaConf.to_container(cfg, resolve=True), [recipes(run / layout.MODEL)])
        days = publication_days(corpus, Path(cfg.paths.raw) / corpus.name)
        members = corpus.members[cfg.split]
        if days is not None:
            members = members[np.argsort(days[members], kind="stable")]
        texts = corpus.texts.take(pa.array(members)).to_pylist()
        labels = {name: codes[members] for name, codes in corpus.groups.items()}
        queries, documents = load_model(run / layout.MODEL).read(texts).search_matrices(np.arange(len(texts)))

        measured = measure_topics(documents, texts, labels, seed=cfg.seed)
        for name, methods in measured.items():
            for method, one in methods.items():
                tell(run, f"{one.metrics['count']:.0f} topics by {method} and {name}", one.metrics)
        suggested = {}
        if days is not None:
            articles = Articles(queries, documents, days[members], finest_clusters(labels, ()), word_sets(texts))
            suggested = related(articles, labels, days=cfg.days, seed=cfg.seed)
            for name, ways in suggested.items():
                for way, ranked in ways.items():
                    tell(run, f"related by {name}, {way}", ranked.metrics)
        write_json(run / TOPICS, {name: as_dict(methods) for name, methods in measured.items()})
        write_json(run / RELATED, {name: as_dict(ways) for name, ways in suggested.items()})


def documents_of(run: Path, cfg: DictConfig) -> Corpus:
    """The corpus that a model was trained on.

    Raises:
        ValueError: if it has no documents, has changed since, or has no such split.
    """
    corpus = Corpus.load(Path(cfg.paths.processed) / trained_on(run / layout.MODEL)["name"])
    require_trained_on(run / layout.MODEL, corpus)
    if corpus.kind != "documents":
        raise ValueError(f"topics are of documents, and {corpus.name} has pairs: name a run on data such as uci_news")
    if cfg.split not in corpus.members:
        raise ValueError(f"split is one of {', '.join(corpus.members)}, got {cfg.split!r}")
    return corpus


def as_dict(results: Mapping[Any, Any]) -> dict[str, Any]:
    """Dataclasses as dictionaries."""
    return {name: asdict(each) for name, each in results.items()}


def tell(run: Path, what: str, metrics: dict[str, float]) -> None:
    """Print some measures in a line."""
    shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items() if name != "count")
    print(f"{run.name}: {what}: {shown}")


if __name__ == "__main__":
    run_script(main)

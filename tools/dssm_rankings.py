#!/usr/bin/env python
"""Does the order of Huang et al.'s table of rankings hold on headlines? Its rows, by nDCG on stories of uci_news.

    python tools/dssm_rankings.py                     # all rows; those of DSSM with three seeds
    python tools/dssm_rankings.py --seeds 0
    python tools/dssm_rankings.py --commands          # what would be trained, one line each

The queries are test headlines; relevant are others of their story. Rows of DSSM are trained on pairs of a story on the
same terms (`+experiment=fair_story`) and differ in what they read and in their layers. LSA is scikit-learn's truncated
SVD of TF-IDF over train, whose vectors of words `glove_mean` reads from a file. A row that is there is left out. What
came out goes to runs/study-dssm-rankings.json, which RESULTS.md and the report show; models are in build/dssm_rankings
of the folder that it is called in.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from choosing_pairs import Runner
from pair_tables import spread
from pair_ways import Call, corpus_calls

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.features.splitting import words
from twicetold.files import write_text
from twicetold.reporting.studies import Study, StudyCell, StudyTable, write_study

TOP = Path(__file__).resolve().parents[1]
NAME, DATA = "dssm-rankings", "uci_news"
FOLDER = Path("build/dssm_rankings")
PROCESSED, VECTORS = FOLDER / "processed", FOLDER / "lsa.txt"
TOPICS = 300  # dimensions of LSA; on validation better than 100
MEASURES = ("retrieval_ndcg_at_1", "retrieval_ndcg_at_3", "retrieval_ndcg_at_10")
TITLE = "DSSM's table of rankings"
HOW_TO_READ = (
    "The rows of table 2 of Huang et al. 2013 that can be made here, on other data: there web pages for queries, here "
    "for each test headline of uci_news the others of its story. Rows of DSSM are trained on pairs of train stories on "
    "the same terms and differ in what they read (words, the 40,000 most frequent, or letter trigrams) and in their "
    "layers. LSA is the truncated SVD of TF-IDF over train, with 300 dimensions. Of several seeds the mean and the "
    "standard deviation, of one the 95 % interval; the last columns are the paper's.",
    "tools/dssm_rankings.py trains the rows.",
)


@dataclass(frozen=True)
class Row:
    """A row of the paper's table."""

    says: str
    paper: tuple[float, float, float]
    """nDCG@1, @3 and @10."""
    overrides: Sequence[str]
    learns: bool = True
    """Whether it depends on the seed."""


FAIR = ("model=dssm", "+experiment=fair_story", "tuned=none")
ROWS = {
    "tfidf": Row("TF-IDF", (0.319, 0.382, 0.462), ["model=tfidf"], learns=False),
    "bm25": Row("BM25", (0.308, 0.373, 0.455), ["model=bm25"], learns=False),
    "lsa": Row(
        "LSA",
        (0.298, 0.372, 0.455),
        ["model=glove_mean", f"features.vectors={VECTORS}", f"encoder.embedding={TOPICS}"],
        learns=False,
    ),
    "words": Row(
        "DSSM over words, two hidden layers",
        (0.342, 0.410, 0.486),
        [*FAIR, "features=bag_of_words", "features.stop_words=null", "features.max_features=40000"],
    ),
    "no_hidden": Row("DSSM, no hidden layer", (0.357, 0.421, 0.494), [*FAIR, "encoder.hidden=[]"]),
    "one_hidden": Row("DSSM, one hidden layer", (float("nan"),) * 3, [*FAIR, "encoder.hidden=[300]"]),
    "two_hidden": Row("DSSM, two hidden layers", (0.362, 0.425, 0.498), FAIR),
}
"""Huang et al. 2013, table 2, where `no_hidden` is the non-linear L-WH; one hidden layer is not in it."""


@dataclass(frozen=True)
class Training:
    """A row with one seed."""

    name: str
    seed: int

    @property
    def run(self) -> Path:
        """Its folder."""
        return FOLDER / f"{self.name}-{self.seed}"

    @property
    def calls(self) -> tuple[Call, Call]:
        """The training and the evaluation."""
        chosen = [f"data={DATA}", *ROWS[self.name].overrides, *PLACES, f"seed={self.seed}", "tracking.enabled=false"]
        arguments = [*chosen, f"hydra.run.dir={self.run}"]
        train = Call("train", arguments, self.run / layout.MODEL / layout.TRAINING)
        return train, Call("evaluate", arguments, self.run / layout.METRICS)


PLACES = [f"paths.{name}={FOLDER / name}" for name in ("raw", "processed", "triplets", "features")]


def planned(seeds: Sequence[int]) -> list[Training]:
    """All trainings; a row that learns nothing has one seed."""
    return [Training(name, seed) for name, row in ROWS.items() for seed in (seeds if row.learns else seeds[:1])]


def prepare(runner: Runner) -> None:
    """Make the corpus, and the file of LSA's vectors, if they are not there yet."""
    chosen = [f"data={DATA}", *PLACES]
    runner.ensure(corpus_calls(chosen, raw=FOLDER / "raw" / DATA, processed=PROCESSED / DATA))
    if not VECTORS.is_file():
        write_text(VECTORS, "".join(lsa(Corpus.load(PROCESSED / DATA).texts_of("train"), TOPICS)))


def lsa(texts: Sequence[str], topics: int) -> Iterator[str]:
    """Lines of a file in GloVe's text format: a word, and its row of the truncated SVD times its IDF.

    The sum of these vectors over the words of a text is its TF-IDF vector folded into the topics, but for its length,
    which a cosine does not see.

    Args:
        texts: of train.
        topics: dimensions.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    def split(text: str) -> list[str]:
        found = words([text], lower_case=True)
        spelt = found.spellings.to_pylist()
        return [spelt[code] for code in found.codes]

    weighing = TfidfVectorizer(analyzer=split)
    fitted = TruncatedSVD(topics, random_state=0).fit(weighing.fit_transform(texts))
    table = (fitted.components_ * weighing.idf_).T.astype(np.float32)
    for word, vector in zip(weighing.get_feature_names_out(), table, strict=True):
        yield f"{word} {' '.join(map(str, vector))}\n"


def study(trainings: Sequence[Training]) -> Study:
    """The table of those that are evaluated."""
    rows = []
    for name, row in ROWS.items():
        runs = [each.run for each in trainings if each.name == name and (each.run / layout.METRICS).is_file()]
        if runs:
            papers = [StudyCell(None if np.isnan(value) else value) for value in row.paper]
            rows.append(((row.says, ""), [StudyCell(len(runs), "count"), *measured(runs), *papers]))
    heads = [f"nDCG@{measure.rpartition('_')[2]}" for measure in MEASURES]
    columns = [("seeds", ""), *((head, "test") for head in heads), *((head, "Huang et al.") for head in heads)]
    return Study(TITLE, HOW_TO_READ, [StudyTable(DATA, f"{TITLE}: {DATA}, stories", "model", columns, rows)])


def measured(runs: Sequence[Path]) -> Iterator[StudyCell]:
    """Each measure of the runs of a row."""
    metrics = [json.loads((run / layout.METRICS).read_text(encoding="utf-8"))["test"] for run in runs]
    intervals = json.loads((runs[0] / layout.SUMMARY).read_text(encoding="utf-8"))["intervals"]
    for measure in MEASURES:
        values = [each[measure] for each in metrics]
        alone = len(values) == 1
        yield StudyCell(values[0], interval=intervals.get(measure)) if alone else spread(values)


def main(arguments: Sequence[str]) -> int:
    """Train what is not there yet and write the table; the exit status is 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--commands", action="store_true", help="print each training, train nothing")
    asked = parser.parse_args(arguments)
    trainings = planned(asked.seeds)
    if asked.commands:
        print("\n".join(f"{training.calls[0]}" for training in trainings))
        return 0
    runner, failed = Runner(FOLDER / "done.json", FOLDER / "last.log"), 0
    prepare(runner)
    for training in trainings:
        try:
            if runner.ensure(iter(training.calls)):
                print(f"{training.run.name}: done", flush=True)
        except (ValueError, OSError) as error:
            failed = 1
            print(f"{training.run.name} failed: {error}", file=sys.stderr, flush=True)
    write_study(study(trainings), NAME, TOP / "runs")
    return failed


if __name__ == "__main__":
    with readable_errors():
        sys.exit(main(sys.argv[1:]))

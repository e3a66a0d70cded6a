#!/usr/bin/env python
"""How much does the split give, and how much do more labels? The same models on splits of one file, and on fewer pairs.

    python tools/splits_and_labels.py                        # all studies, three seeds
    python tools/splits_and_labels.py --study splits --models tfidf static --seeds 0 --minutes 30
    python tools/splits_and_labels.py --commands             # what would be trained, one line each
    python tools/splits_and_labels.py --render               # the tables again, of the results that are there

Study `splits`: Quora's pairs split at random, as Wang et al. 2017 did, and without a question on two sides. Each split
is trained on with all of its pairs, and with as many as the last one has, so that the number of labels is the same.
Study `news`: headlines split at random, by time, and by story, with as many texts on each side.
Study `labels`: 10, 30 and 100 % of the training pairs of one split, the same validation and test.

Each training and evaluation is a command of pipelines/, run in a fork of a process that has imported the large
packages. What came out goes to docs/explanation/experiments/splits-and-labels.json at once, and the tables to the page
beside it. What is there with the same command is left out, so that the same call goes on where it was stopped. Corpora
and models are in build/splits_and_labels of the folder that it is called in.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from choosing_pairs import Runner
from fewer_pairs import with_fewer_pairs
from pair_tables import NOTHING_YET, spread, write_between
from pair_ways import Call, corpus_calls
from split_again import split_again

from twicetold import layout
from twicetold.data.corpus import Corpus
from twicetold.errors import readable_errors
from twicetold.files import write_json
from twicetold.reporting.markdown import shown_table
from twicetold.reporting.studies import Study, StudyCell, StudyTable, write_study

TOP = Path(__file__).resolve().parents[1]
FOLDER = Path("build/splits_and_labels")
RESULTS, PAGE = (TOP / f"docs/explanation/experiments/splits-and-labels.{suffix}" for suffix in ("json", "md"))
BEGIN, END = "<!-- tables: written by tools/splits_and_labels.py -->", "<!-- end of tables -->"
SPLITS, OF_LABELS = ("quora", "quora_wang", "quora_disjoint"), "quora_disjoint"
MODELS = ("tfidf", "static", "dssm")
WITHOUT_SEED = ("tfidf",)
"""Models that come out alike whatever the seed; of fewer pairs, the seed still chooses which."""
ALL, SAME = "all pairs", "as many as the last"
STUDIES = ("splits", "news", "labels")
SHARES = ("10 %", "30 %")
NEWS, RANDOM, TIME, STORY = "uci_news", "at random", "by time", "by story"
NEWS_SPLITS = (RANDOM, TIME, STORY)
HOW: Mapping[str, Literal["random", "time"]] = {RANDOM: "random", TIME: "time"}
DRAWN = (SAME, *SHARES, RANDOM)
"""What the seed draws; the others are alike whatever the seed."""
MEASURES = {"auroc": "AUROC", "accuracy": "accuracy at the threshold chosen on validation"}
NEWS_MEASURES = {
    "auroc_category": "AUROC of categories",
    "average_precision_story": "average precision of stories",
}
TITLE = "What the split gives, and what more labels give"
HOW_TO_READ = (
    "The same models on splits of one file. Questions: at random, as Wang et al. 2017 published it, and without a "
    "question on two sides, each with all of its train pairs and with as many as the last one has. News: headlines at "
    "random, by time, and without a story on two sides, with as many texts on each side. More labels: 10, 30 and "
    "100 % of the train pairs, with the same validation and test. Values are of test: of several seeds the mean and "
    "the standard deviation, of one seed the 95 % interval.",
    "tools/splits_and_labels.py trains them, and docs/explanation/experiments/splits-and-labels.md says what follows "
    "from them.",
)
AUDIT = {
    "equal_texts_in_train": "test texts that are in train",
    "texts_of_train_stories": "test texts whose story is in train",
    "closure_coverage": "test pairs that follow from train",
    "frequency_auroc_min": "AUROC of counting occurrences in train",
}


@dataclass(frozen=True)
class Training:
    """One model on one split with so many of its pairs."""

    data: str
    pairs: str
    """`ALL`, `SAME`, or a share in percent; of news the split."""
    model: str
    seed: int

    @property
    def name(self) -> str:
        """Of its folder, and what tells it from others in the results."""
        return "-".join([self.data, self.pairs.replace(" ", "_").replace("%", "percent"), self.model, f"{self.seed}"])

    @property
    def processed(self) -> Path:
        """The folder of its corpus's folder."""
        drawn = f"-{self.seed}" if self.pairs in DRAWN else ""
        return FOLDER / f"processed-{self.pairs.replace(' ', '_').replace('%', 'percent')}{drawn}"

    @property
    def arguments(self) -> list[str]:
        """Of both commands."""
        places = [*places_of(self.processed), f"paths.features={FOLDER / 'features'}"]
        further = [f"seed={self.seed}", "tracking.enabled=false", f"hydra.run.dir={FOLDER / 'runs' / self.name}"]
        return [f"data={self.data}", f"model={self.model}", *places, *further]

    @property
    def calls(self) -> tuple[Call, Call]:
        """The training and the evaluation."""
        run = FOLDER / "runs" / self.name
        train = Call("train", self.arguments, run / layout.MODEL / layout.TRAINING)
        return train, Call("evaluate", self.arguments, run / layout.METRICS)


def places_of(processed: Path) -> list[str]:
    """Where its stages read and write, apart from those of the grid."""
    return [f"paths.raw={FOLDER / 'raw'}", f"paths.processed={processed}", f"paths.triplets={FOLDER / 'triplets'}"]


def planned(asked: argparse.Namespace) -> list[Training]:
    """What is asked for, all trainings with one seed before those with the next one."""
    rungs = [(data, pairs) for data in asked.splits for pairs in (ALL, SAME) if "splits" in asked.study]
    rungs = [rung for rung in rungs if rung != (asked.splits[-1], SAME)]
    rungs += [(NEWS, split) for split in NEWS_SPLITS if "news" in asked.study]
    rungs += [(asked.of_labels, pairs) for pairs in (*SHARES, ALL)] if "labels" in asked.study else []
    found = [
        Training(data, pairs, model, seed)
        for seed in asked.seeds
        for data, pairs in dict.fromkeys(rungs)
        for model in asked.models
        if pairs in DRAWN or model not in WITHOUT_SEED or seed == asked.seeds[0]
    ]
    return found


def prepare(data: Iterable[str], runner: Runner) -> None:
    """Make the corpora with all pairs, those that are not there yet."""
    whole = Training("", ALL, "", 0).processed
    for name in data:
        chosen = [f"data={name}", *places_of(whole)]
        runner.ensure(corpus_calls(chosen, raw=FOLDER / "raw" / name, processed=whole / name))


def cut(training: Training, last: str) -> None:
    """Make its corpus, if it has fewer pairs than its split or other splits, and is not there yet.

    Args:
        training: whose.
        last: data that `SAME` has as many pairs as.

    Raises:
        ValueError: if the last split has more pairs.
    """
    folder = training.processed / training.data
    if training.pairs == ALL or (folder / layout.CARD).is_file():
        return
    whole = Training("", ALL, "", 0).processed
    corpus = Corpus.load(whole / training.data)
    if training.pairs in NEWS_SPLITS:
        other = corpus if training.pairs == STORY else split_again(corpus, HOW[training.pairs], seed=training.seed)
        other.save(folder)
        return
    if training.pairs == SAME:
        kept = len(Corpus.load(whole / last).pairs["train"])
    else:
        kept = max(1, round(len(corpus.pairs["train"]) * int(training.pairs.partition(" ")[0]) / 100))
    with_fewer_pairs(corpus, kept, seed=training.seed).save(folder)


def run(trainings: Sequence[Training], file: Path, runner: Runner, *, last: str, minutes: float) -> list[str]:
    """Train and evaluate what is not in the file of results yet; the names of those that failed.

    Args:
        trainings: in order.
        file: of results, written after each.
        runner: of calls.
        last: data that `SAME` has as many pairs as.
        minutes: what would probably end later is not begun: the longest of its data and model counts.
    """
    started, took, failed = time.monotonic(), dict[tuple[str, str], float](), []
    prepare(dict.fromkeys([*(training.data for training in trainings), last]), runner)
    for training in trainings:
        rows, kind = read(file), (training.data, training.model)
        command = f"{training.calls[0]}"
        if rows.get(training.name, {}).get("command") == command:
            continue
        left = 60 * minutes - (time.monotonic() - started)
        if left < took.get(kind, 1):
            print(f"{training.name}: not begun, {max(0, round(left))} seconds are left", flush=True)
            continue
        try:
            cut(training, last)
            seconds = [runner(call) for call in training.calls]
        except (ValueError, OSError) as error:
            failed.append(training.name)
            print(f"{training.name} failed: {error}", file=sys.stderr, flush=True)
            continue
        took[kind] = max(took.get(kind, 0), sum(seconds))
        rows[training.name] = {**result(training), "seconds": [round(each) for each in seconds], "command": command}
        write_json(file, rows)
        measure, value = next(iter(rows[training.name]["test"].items()))
        print(f"{training.name}: {measure} on test {value:.4f}, {sum(seconds):.0f} s", flush=True)
    return failed


def result(training: Training) -> dict[str, Any]:
    """What is kept of an evaluated run."""
    run = training.calls[1].writes.parent
    metrics = json.loads((run / layout.METRICS).read_text(encoding="utf-8"))
    about = json.loads((run / layout.SUMMARY).read_text(encoding="utf-8"))
    corpus = Corpus.load(training.processed / training.data)
    measures = NEWS_MEASURES if training.data == NEWS else MEASURES
    return {
        **{name: getattr(training, name) for name in ("data", "pairs", "model", "seed")},
        **counted(corpus),
        "audit": {name: value for name, value in corpus.card["audit"]["test"].items() if name in AUDIT},
        **{split: {name: metrics[split][name] for name in measures} for split in ("val", "test")},
        "intervals": {name: ends for name, ends in about["intervals"].items() if name in measures},
    }


def counted(corpus: Corpus) -> dict[str, float]:
    """How many pairs, or texts of documents, train and test have, and how many of the pairs say the same."""
    if not corpus.pairs:
        return {f"{split}_texts": len(corpus.members[split]) for split in ("train", "test")}
    sizes = {f"{split}_pairs": len(corpus.pairs[split]) for split in ("train", "test")}
    return {**sizes, "share_of_duplicates": float(corpus.pairs["test"].label.mean())}


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The results that are there, by name."""
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


Rows = Sequence[Mapping[str, Any]]


def study(rows: Mapping[str, Mapping[str, Any]]) -> Study:
    """All tables."""
    found = list(rows.values())
    of_pairs, of_labels = ([row for row in found if row["pairs"] in parts] for parts in ((ALL, SAME), SHARES))
    cut = {row["data"] for row in of_labels}
    of_labels += [row for row in of_pairs if row["pairs"] == ALL and row["data"] in cut]
    of_news = [row for row in found if row["pairs"] in NEWS_SPLITS]
    tables = [*ladder("Splits of questions", of_pairs, MEASURES), *ladder("Splits of news", of_news, NEWS_MEASURES)]
    tables += [table("More labels", of_labels, *measure) for measure in MEASURES.items() if of_labels]
    return Study(TITLE, HOW_TO_READ, tables)


def tables(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """All tables, as Markdown."""
    found = study(rows).tables
    return "\n".join(f"### {each.title}\n\n{shown_table(each.shown)}" for each in found) or f"{NOTHING_YET}\n"


def ladder(title: str, rows: Rows, measures: Mapping[str, str]) -> Iterator[StudyTable]:
    """What the splits have, and how good models are on each."""
    if rows:
        yield facts(title, rows)
        for measure in measures.items():
            yield table(title, rows, *measure)


def rungs(rows: Rows) -> Iterator[tuple[tuple[str, str], list[Mapping[str, Any]]]]:
    """Name and rows of each column, the splits in their order and fewer pairs first."""
    data = list(dict.fromkeys([*SPLITS, *sorted({row["data"] for row in rows})]))
    parts = (*SHARES, SAME, ALL, *NEWS_SPLITS)
    keys = {(row["data"], row["pairs"]) for row in rows}
    for key in sorted(keys, key=lambda key: (data.index(key[0]), parts.index(key[1]))):
        yield key, [row for row in rows if (row["data"], row["pairs"]) == key]


def facts(title: str, rows: Rows) -> StudyTable:
    """What the splits have, a row for each."""
    sizes = [f"{split}_{what}" for what in ("pairs", "texts") for split in ("train", "test")]
    sizes = [key for key in (*sizes, "share_of_duplicates") if key in rows[0]]
    names = [name for name in AUDIT if name in rows[0]["audit"]]
    lines = []
    for name, found in rungs(rows):
        forms = {key: "share" if key == "share_of_duplicates" else "count" for key in sizes}
        shown = [StudyCell(statistics.fmean(row[key] for row in found), form) for key, form in forms.items()]
        forms = {key: "number" if "auroc" in key else "share" for key in names}
        shown += [StudyCell(statistics.fmean(row["audit"][key] for row in found), form) for key, form in forms.items()]
        lines.append((name, shown))
    heads = [key.replace("share_of_duplicates", "that say the same").replace("_", " ") for key in sizes]
    heads += [AUDIT[name] for name in names]
    return StudyTable(data_of(rows), f"{title}: what they have", "split", [(head, "") for head in heads], lines)


def table(title: str, rows: Rows, measure: str, label: str) -> StudyTable:
    """A measure of test, models as rows; mean and standard deviation over seeds, of one seed its interval."""
    columns = list(rungs(rows))
    lines = []
    models = {row["model"] for row in rows}
    for model in (*(name for name in MODELS if name in models), *sorted(models - {*MODELS})):
        of_model = ([row for row in found if row["model"] == model] for _, found in columns)
        lines.append(((model, ""), [cell(found, measure) for found in of_model]))
    return StudyTable(data_of(rows), f"{title}: {label}", "model", [name for name, _ in columns], lines)


def data_of(rows: Rows) -> str:
    """The dataset whose readers a table is for: of several splits the last one."""
    return str(list(rungs(rows))[-1][1][0]["data"])


def cell(rows: Rows, measure: str) -> StudyCell:
    """One cell of `table`."""
    mean = spread([row["test"][measure] for row in rows])
    return replace(mean, interval=rows[0]["intervals"].get(measure)) if len(rows) == 1 else mean


def write_page(page: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the tables between the marks of the page.

    Raises:
        ValueError: if the page lacks the marks.
    """
    write_between(BEGIN, END, page, tables(rows))


def options() -> argparse.ArgumentParser:
    """What the command understands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", nargs="+", choices=STUDIES, default=STUDIES)
    parser.add_argument(
        "--splits", nargs="+", default=list(SPLITS), help="data of labelled pairs; the last has the fewest"
    )
    parser.add_argument("--of-labels", default=OF_LABELS, help="data whose training pairs are cut")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing that would end later")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the results")
    parser.add_argument("--render", action="store_true", help="train nothing, write the tables again")
    parser.add_argument("--commands", action="store_true", help="print each training, train nothing")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Train what is asked for and write the tables; the exit status is 1 if something failed."""
    asked = options().parse_args(arguments)
    trainings, failed = planned(asked), list[str]()
    if asked.commands:
        print("\n".join(f"{training.calls[0]}" for training in trainings))
        return 0
    if not asked.render:
        runner = Runner(FOLDER / "done.json", FOLDER / "last.log")
        failed = run(trainings, asked.results, runner, last=asked.splits[-1], minutes=asked.minutes)
    if asked.results == RESULTS:
        write_page(PAGE, read(RESULTS))
        write_study(study(read(RESULTS)), RESULTS.stem, TOP / "runs")
    print(tables(read(asked.results)))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    with readable_errors():
        sys.exit(main(sys.argv[1:]))

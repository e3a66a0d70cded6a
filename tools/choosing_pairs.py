#!/usr/bin/env python
"""How should positives and negatives be chosen? Every way of choosing_pairs.toml under one encoder and one budget.

    python tools/choosing_pairs.py --data uci_news --encoders static --seeds 0 1 2 --minutes 30
    python tools/choosing_pairs.py --data uci_news --evaluate     # the same ones, with evaluate.py after each
    python tools/choosing_pairs.py --data uci_news --commands     # what would be trained, one line each
    python tools/choosing_pairs.py --render                       # the tables again, of the results that are there

Each training is a command of pipelines/, run in a fork of a process that has imported the large packages. What it gave
on validation goes to docs/explanation/experiments/choosing-pairs.json at once, and the tables to the page beside it. A
training that is there with the same command is left out, so that the same call goes on where it was stopped. Models and
mined files are in build/choosing_pairs and data/ of the folder that it is called in. Only `--evaluate` reads test.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import json
import multiprocessing
import os
import runpy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from pair_tables import ACCURACY, Results, study, tables, write_page
from pair_ways import FOLDER, Call, Training, Ways

from twicetold.errors import readable_errors
from twicetold.files import write_json
from twicetold.reporting.studies import write_study

TOP = Path(__file__).resolve().parents[1]
WAYS = Path(__file__).with_suffix(".toml")
RESULTS, PAGE = (TOP / f"docs/explanation/experiments/choosing-pairs.{suffix}" for suffix in ("json", "md"))
IMPORTED = ("torch", "pytorch_lightning", "hydra", "sklearn.feature_extraction.text", "pyarrow.parquet")


@dataclass(frozen=True)
class Runner:
    """Runs calls that are not done yet.

    Args:
        done: file with the calls that are done.
        log: of the call that runs.
    """

    done: Path
    log: Path

    def ensure(self, calls: Iterator[Call]) -> bool:
        """Run calls that are not done, and those after one that had to be run; whether there were any.

        Raises:
            ValueError: if one fails.
        """
        again = False
        for call in calls:
            if again or not call.writes.exists() or self.noted().get(call.name, f"{call}") != f"{call}":
                self(call)
                again = True
        return again

    def __call__(self, call: Call) -> float:
        """Run a call; the seconds that it took.

        Raises:
            ValueError: if it fails; has what it printed last.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload(list(IMPORTED))
        begun = time.monotonic()
        script = TOP / "pipelines" / f"{call.script}.py"
        process = forks.Process(target=be_script, args=(f"{script}", list(call.arguments), f"{self.log}"))
        process.start()
        process.join()
        if process.exitcode:
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise ValueError("\n".join([f"{call}", *lines[-5:]]))
        self.note(call)
        return time.monotonic() - begun

    def note(self, call: Call) -> None:
        """Note that a call is done."""
        write_json(self.done, {**self.noted(), call.name: f"{call}"})

    def noted(self) -> dict[str, str]:
        """The last call of each name."""
        return dict(json.loads(self.done.read_text(encoding="utf-8"))) if self.done.is_file() else {}


def be_script(script: str, arguments: Sequence[str], log: str) -> None:
    """Be a script, within a process of its own."""
    with Path(log).open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


def run(
    trainings: Sequence[Training], results: Results, runner: Runner, *, evaluate: bool, minutes: float
) -> list[str]:
    """Run what is not there yet, one after another; the names of those that failed.

    Args:
        trainings: in order.
        results: that are there; they grow.
        runner: of calls.
        evaluate: measure test as well.
        minutes: a training that would probably end later is not begun: the longest of its data and encoder counts.
    """
    started, took, failed = time.monotonic(), dict[tuple[str, str], float](), []
    for training in trainings:
        kind = training.data.name, training.encoder
        begun = time.monotonic()
        left = 60 * minutes - (begun - started)
        if left < took.get(kind, 1):
            print(f"{training.out.name}: not begun, {max(0, round(left))} seconds are left", flush=True)
            continue
        try:
            if one(training, results, runner, evaluate=evaluate):
                took[kind] = max(took.get(kind, 0), time.monotonic() - begun)
        except (ValueError, OSError) as error:
            failed.append(training.out.name)
            print(f"{training.out.name} failed: {error}", file=sys.stderr, flush=True)
    return failed


def one(training: Training, results: Results, runner: Runner, *, evaluate: bool) -> bool:
    """Run a training after what it needs, and note what came out; whether there was something to do.

    Raises:
        ValueError: if a call fails.
    """
    again = runner.ensure(training.before())
    call, row = training.train, results.rows.get(training.key, {})
    lacks_model = evaluate and "test" not in row and not call.writes.exists()
    new = again or lacks_model or row.get("command") != f"{call}"
    if new:
        seconds = runner(call)
        about = json.loads(call.writes.read_text(encoding="utf-8"))
        found = {"examples": training.examples, "epochs": training.epochs, "best_epoch": about["best_epoch"]}
        found |= {
            "metric": about["metric"],
            "val": about["best_value"],
            "seconds": round(seconds),
            "command": f"{call}",
        }
        results.put(training, **found)
        print(f"{training.out.name}: val {about['metric']} {about['best_value']:.4f}, {seconds:.0f} s", flush=True)
    row = results.rows[training.key]
    if not evaluate or "test" in row:
        return new
    runner(training.evaluate)
    metrics = json.loads(training.evaluate.writes.read_text(encoding="utf-8"))
    wanted = training.data.metric, ACCURACY
    kept = {
        split: {name: metrics[split][name] for name in wanted if name in metrics[split]} for split in ("val", "test")
    }
    results.put(training, **row, measured=kept["val"], test=kept["test"])
    return True


def options(file: Ways) -> argparse.ArgumentParser:
    """What the command understands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=file.data, default=["uci_news", "quora_disjoint"])
    parser.add_argument("--encoders", nargs="+", choices=file.encoders, default=["static"])
    parser.add_argument("--ways", nargs="+", choices=file.ways, default=list(file.ways), help="default: all")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing that would end later")
    parser.add_argument("--evaluate", action="store_true", help="evaluate each model on validation and test")
    parser.add_argument("--profile", choices=["full", "smoke"], default="full", help="smoke: a check of seconds")
    parser.add_argument("--results", type=Path, help="file of the results, in place of those that the page shows")
    parser.add_argument("--render", action="store_true", help="train nothing, write the tables again")
    parser.add_argument("--commands", action="store_true", help="print the settings of each training, train nothing")
    return parser


def chosen(file: Ways, asked: argparse.Namespace) -> Iterator[Training]:
    """The trainings that are asked for: all ways with one seed before the next seed."""
    for data, encoder, seed, way in product(asked.data, asked.encoders, asked.seeds, asked.ways):
        if not file.ways[way].data or data in file.ways[way].data:
            yield Training(file, file.data[data], encoder, file.ways[way], seed, asked.profile)


def main(arguments: Sequence[str]) -> int:
    """Train what is asked for and write the tables; the exit status is 1 if something failed."""
    file = Ways.read(WAYS)
    asked = options(file).parse_args(arguments)
    trainings = list(chosen(file, asked))
    if asked.commands:
        print("\n".join(f"{Call('train', training.settings, training.out)}" for training in trainings))
        return 0
    shown = RESULTS if asked.profile == "full" else FOLDER / asked.profile / RESULTS.name
    results, runner = Results.read(asked.results or shown), Runner(FOLDER / "done.json", FOLDER / "last.log")
    failed: list[str] = []
    if not asked.render:
        failed = run(trainings, results, runner, evaluate=asked.evaluate, minutes=asked.minutes)
    if results.file == RESULTS:
        write_page(PAGE, file, results)
        write_study(study(file, results), RESULTS.stem, TOP / "runs")
    print(tables(file, results))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    with readable_errors():
        sys.exit(main(sys.argv[1:]))

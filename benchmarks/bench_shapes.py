"""Dedupe of files of unusual shapes: does each one end, in how much time and memory, and what is not compared.

    python benchmarks/bench_shapes.py [--quick] [--rows 50000] [--shape "names;variants"] [--limit 120] [--json FILE]

Each shape is a file of JSON lines, on which `twicetold dedupe` runs as a process of its own, on one thread. A process
that needs more processor time than `--limit`, or more than `MEMORY`, is ended. The texts are drawn from a fixed seed;
`ordinary` are the questions of `bench_dedupe.py`.
"""

import argparse
import json
import os
import resource
import string
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from bench_dedupe import THREADS, texts_for

ROWS, QUICK = 50_000, 2_000
LIMIT = 120  # seconds of processor time
NOT = "not compared"  # in warnings about what was cut
MEMORY = 6 << 30  # bytes of address space
HAN, HANGUL = ([chr(point) for point in points] for points in (range(0x4E00, 0x9FA5), range(0xAC00, 0xD7A4)))
COLOURS = "red blue green black white grey pink beige brown purple".split()
FORMS = "slim regular loose tapered straight relaxed".split()
STUFFS = "cotton linen denim wool silk jersey viscose polyester".split()
CLOTHES = "shirt trousers jacket dress coat skirt sweater blouse".split()
TEMPLATES = (
    "Your order {} was shipped on day {}",
    "Invoice {} is due in {} days",
    "Ticket {} was closed by agent {}",
    "Parcel {} waits at counter {}",
    "User {} logged in from terminal {}",
)
Draw = np.random.Generator


def words(draw: Draw, count: int, vocabulary: list[str]) -> str:
    """So many words, all of them equally likely."""
    return " ".join(vocabulary[place] for place in draw.integers(0, len(vocabulary), count))


def made_up(draw: Draw, count: int, letters: str = string.ascii_lowercase) -> list[str]:
    """Words of three to nine letters."""
    return ["".join(draw.choice(list(letters), size)) for size in draw.integers(3, 10, count)]


def template(draw: Draw, which: int) -> str:
    """A line of one of the templates."""
    return TEMPLATES[which].format(draw.integers(0, 10**7), draw.integers(0, 100))


def log_line(draw: Draw, vocabulary: list[str]) -> str:
    """A time, a level, a part and a message."""
    hour, minute, second, thousandth, day = (draw.integers(0, n) for n in (24, 60, 60, 1000, 28))
    level, part = words(draw, 1, ["INFO", "WARN", "ERROR"]), words(draw, 1, vocabulary[:20])
    time = f"2024-05-{day + 1:02} {hour:02}:{minute:02}:{second:02}.{thousandth:03}"
    return f"{time} {level} [{part}] request {draw.integers(0, 1 << 32):08x} took {draw.integers(0, 5000)} ms"


def variant(draw: Draw) -> str:
    """A product in one colour, form and size."""
    who, print_ = words(draw, 1, ["men", "women", "kids"]), words(draw, 1, ["printed", "plain", "striped"])
    what = " ".join(words(draw, 1, each) for each in (FORMS, COLOURS, STUFFS, CLOTHES))
    length, size = words(draw, 1, ["long", "short"]), words(draw, 1, "s m l xl xxl".split())
    return f"{who} {what} {length} {print_} size {size}"


def zipf(draw: Draw, count: int, vocabulary: list[str]) -> str:
    """Words, the first ones of the vocabulary most often."""
    place = (len(vocabulary) ** draw.random(count)).astype(int) - 1
    return " ".join(vocabulary[each] for each in place)


def one_key(draw: Draw, _: list[str]) -> str:
    """A word that is the same without one of its letters, which is any syllable of Hangul."""
    return f"customer{words(draw, 1, HANGUL)}s of shop {draw.integers(0, 10**4)}"


SHAPES: dict[str, Callable[[Draw, list[str]], str]] = {
    "all equal": lambda _, __: "Where can I buy a tent?",
    "one template": lambda draw, _: template(draw, 0),
    "five templates": lambda draw, _: template(draw, int(draw.integers(0, len(TEMPLATES)))),
    "log lines": log_line,
    "few words": lambda draw, vocabulary: words(draw, 8, vocabulary[:30]),
    "two words": lambda draw, vocabulary: words(draw, 16, vocabulary[:2]),
    "three letters": lambda draw, _: " ".join(made_up(draw, 5, "abc")),
    "variants": lambda draw, _: variant(draw),
    "ideographs": lambda draw, _: "".join(draw.choice(HAN[:3000], 12)),
    "long digits": lambda draw, _: f"{draw.integers(0, 10**5)} " + "".join(map(str, draw.integers(0, 10, 300))),
    "one spelling key": one_key,
    "200 words a row": lambda draw, vocabulary: zipf(draw, 200, vocabulary),
    "names": lambda draw, vocabulary: f"{words(draw, 1, vocabulary[:300])} {words(draw, 1, vocabulary[300:3300])}",
}
"""By name: a function from a generator of numbers and a vocabulary to a text."""
ORDINARY = "ordinary"


@dataclass(frozen=True)
class Took:
    """What the dedupe of one shape took.

    Args:
        shape: its name.
        rows: of the file.
        cpu: seconds of processor time.
        peak: greatest resident size in GB (2**30 bytes).
        links: None if it was ended.
        cut: sentences about what was not compared; or why it was ended.
    """

    shape: str
    rows: int
    cpu: float
    peak: float
    links: int | None
    cut: list[str]


def lines(shape: str, rows: int) -> Iterator[str]:
    """A file of this shape."""
    draw = np.random.default_rng(0)
    vocabulary = made_up(draw, 20_000)
    ordinary = iter(texts_for(rows)) if shape == ORDINARY else None
    for _ in range(rows):
        text = SHAPES[shape](draw, vocabulary) if ordinary is None else next(ordinary)
        yield json.dumps({"text": text}) + "\n"


def measured(shape: str, rows: int, *, limit: int) -> Took:
    """Dedupe a file of this shape in a process."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    with tempfile.TemporaryDirectory() as folder:
        file, said, errors = (Path(folder, name) for name in ("rows.jsonl", "summary.json", "errors"))
        file.write_text("".join(lines(shape, rows)), encoding="utf-8")
        command = [
            Path(sys.executable).with_name("twicetold"),
            "dedupe",
            file,
            "--json",
            "-o",
            Path(folder, "out.jsonl"),
        ]
        with said.open("w") as out, errors.open("w") as error:
            process = subprocess.Popen(command, stdout=out, stderr=error, preexec_fn=bound)
            _, status, usage = os.wait4(process.pid, 0)
        links, cut = None, (errors.read_text().strip().splitlines() or ["ended by its limit"])[-1:]
        if not status:
            summary = json.loads(said.read_text())
            unfinished = (
                [f"{summary['unfinished']:,} texts were not compared with all"] if summary["unfinished"] else []
            )
            links, cut = summary["links"], [*unfinished, *(each for each in summary["warnings"] if NOT in each)]
    return Took(shape, rows, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20, links, cut)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 rows")
    parser.add_argument("--rows", type=int, help="rows of each file")
    parser.add_argument("--shape", default=";".join([*SHAPES, ORDINARY]), help="with semicolons between")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds of processor time of each")
    parser.add_argument("--json", type=Path, help="also write the measurements to this file")
    options = parser.parse_args(arguments)
    os.environ |= THREADS
    rows = options.rows or (QUICK if options.quick else ROWS)
    results: list[Took] = []
    print(f"{'shape':<18}{'rows':>9}{'CPU s':>8}{'peak MB':>9}{'links':>11}  said")
    for shape in options.shape.split(";"):
        results.append(took := measured(shape, rows, limit=options.limit))
        links = "ended" if took.links is None else f"{took.links:,}"
        numbers = f"{rows:>9,}{took.cpu:8.1f}{1024 * took.peak:9,.0f}{links:>11}"
        print(f"{shape:<18}{numbers}  {'; '.join(took.cut)}".rstrip(), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")


if __name__ == "__main__":
    main()

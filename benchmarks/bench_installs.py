"""From nothing to a deduped file: seconds and megabytes of twicetold beside semhash and splink.

    python benchmarks/bench_installs.py [--only base,semhash] [--file FILE.csv] [--column text]

Each row is a new environment, into which pip installs one library (twicetold from this checkout) and in which a process
of its own dedupes a CSV file with what the library's own page shows first. Megabytes are those of the environment above
those of an empty one. Seconds of pip are with its cache of downloads as it is: run it twice, and compare second runs.
semhash's encoder is the folder that `--encoder` names, which by default is that of the mirror (`TWICETOLD_MIRROR`), so
its download is in no figure; its 30 MB come on top. Blocking and comparisons of splink, which is made for records of
several fields, are those of one field of text.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SEMHASH = """
import csv, sys
from model2vec import StaticModel
from semhash import SemHash
texts = [row[sys.argv[2]] for row in csv.DictReader(open(sys.argv[1]))]
found = SemHash.from_records(records=texts, model=StaticModel.from_pretrained(sys.argv[3])).self_deduplicate()
print(len(found.selected), "texts kept of", len(texts))
"""
SPLINK = """
import csv, sys
import splink.comparison_library as compare
from splink import DuckDBAPI, Linker, SettingsCreator, block_on
import pyarrow as pa
texts = [row[sys.argv[2]] for row in csv.DictReader(open(sys.argv[1]))]
table = pa.table({"unique_id": list(range(len(texts))), "text": texts, "first": [text.split()[:1] for text in texts]})
settings = SettingsCreator(
    link_type="dedupe_only",
    comparisons=[compare.JaroWinklerAtThresholds("text", [0.9, 0.8])],
    blocking_rules_to_generate_predictions=[block_on("first")],
)
backend = DuckDBAPI()
linker = Linker(backend.register(table), settings)
linker.training.estimate_u_using_random_sampling(max_pairs=1e5)
links = linker.inference.predict(threshold_match_probability=0.5)
groups = linker.clustering.cluster_pairwise_predictions_at_threshold(links, threshold_match_probability=0.5)
print(len({row["cluster_id"] for row in groups.as_record_list()}), "texts kept of", len(texts))
"""


@dataclass(frozen=True)
class Way:
    """What pip is given, and the command that dedupes FILE by COLUMN."""

    requirements: tuple[str, ...]
    command: tuple[str, ...]


OURS = ("bin/twicetold", "dedupe", "FILE", "--text", "COLUMN", "-o", "OUT")
WAYS = {
    "twicetold": Way((str(ROOT),), OURS),
    "twicetold[static]": Way((f"{ROOT}[static]",), OURS),
    "semhash": Way(("semhash==0.5.0",), ("bin/python", "-c", SEMHASH, "FILE", "COLUMN", "ENCODER")),
    "splink": Way(("splink==5.0.0", "pyarrow"), ("bin/python", "-c", SPLINK, "FILE", "COLUMN")),
}


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--file", type=Path, default=ROOT / "examples/questions.csv")
    parser.add_argument("--column", default="question")
    mirror = Path(os.environ.get("TWICETOLD_MIRROR", "."))
    parser.add_argument("--encoder", type=Path, default=mirror / "models/potion-base-8M")
    given = parser.parse_args()
    print("| library | install, s | MB | dedupe, s | said |")
    print("|---|---:|---:|---:|---|", flush=True)
    for name in given.only.split(","):
        print(row(name, WAYS[name], given), flush=True)


def row(name: str, way: Way, given: argparse.Namespace) -> str:
    """Install and dedupe."""
    with TemporaryDirectory() as place:
        home = Path(place, "venv")
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        empty = megabytes(home)
        pip = [home / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        took = seconds([*pip, "--constraint", ROOT / "constraints.txt", *way.requirements], place)[0]
        size = megabytes(home) - empty
        known = {
            "FILE": given.file.resolve(),
            "COLUMN": given.column,
            "ENCODER": given.encoder.resolve(),
            "OUT": Path(place, "out.csv"),
        }
        command, *rest = (known.get(part, part) for part in way.command)
        deduped, said = seconds([home / command, *rest], place)
        return f"| {name} | {took:.1f} | {size:.0f} | {deduped:.1f} | {said} |"


def seconds(command: list[Path | str], place: str) -> tuple[float, str]:
    """Seconds that a command takes outside the checkout, and the line of its output that counts texts."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    start = time.monotonic()
    done = subprocess.run(command, check=False, cwd=place, env=environment, capture_output=True, text=True)
    took = time.monotonic() - start
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "groups of" in line or "kept of" in line]
    return took, lines[-1] if lines else "–"


def megabytes(folder: Path) -> float:
    """What is in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


if __name__ == "__main__":
    main()

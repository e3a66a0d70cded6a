"""Learn the generic matcher on a mirror of the public data, and write its numbers as JSON.

Examples:
    python tools/learn_matcher.py ../data src/twicetold/matching/generic.json
    python tools/learn_matcher.py ../data build/held_out.json --without products questions titles

Each file of the mirror is read, each set of numbers is learnt, and each stands on one line; a checksum of them is last.
With `--without`, a set is of all kinds of files but one: `twicetold_lab/scoring/held_out.json`, by which the default is
evaluated on such data.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import json

from twicetold.matching.matcher import CHECKSUM, checksum
from twicetold_lab.matching.learning import generic_numbers, held_out_numbers


def main() -> None:
    """Read the files, learn each set of numbers, write them in one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--without", nargs="*", metavar="KIND")
    asked = parser.parse_args()
    learnt = held_out_numbers(asked.mirror, asked.without) if asked.without else generic_numbers(asked.mirror)
    sets = [f'"{name}": {json.dumps(numbers)}' for name, numbers in {**learnt, CHECKSUM: checksum(learnt)}.items()]
    asked.file.write_text("{\n" + ",\n".join(sets) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Learn the generic matcher of the package on a mirror of the public data, and write its numbers as JSON.

Usage: python pipelines/learn_matcher.py <mirror> <file>

Examples:
    python pipelines/learn_matcher.py ../data src/twicetold/matching/generic.json
    python pipelines/learn_matcher.py ../data build/generic.json

Each file of the mirror is read, each set of numbers is learnt, and each stands on one line.
"""

import checkout  # noqa: F401 (for its effects)

import argparse
import json
from pathlib import Path

from twicetold_lab.matching.learning import generic_numbers


def main() -> None:
    """Read the files, learn each set of numbers, write them in one line each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mirror", type=Path)
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    sets = [f'"{name}": {json.dumps(numbers)}' for name, numbers in generic_numbers(asked.mirror).items()]
    asked.file.write_text("{\n" + ",\n".join(sets) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

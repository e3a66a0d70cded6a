"""Learns the generic matcher of the package on a mirror of the public data, and writes its numbers as JSON.

python pipelines/learn_matcher.py MIRROR src/twicetold/matching/generic.json
"""

import checkout  # noqa: F401 (for its effects)

import json
import sys
from pathlib import Path

from twicetold_lab.matching.learning import generic_numbers


def main() -> None:
    """Read the files, learn each set of numbers, write them in one line each."""
    mirror, out = map(Path, sys.argv[1:])
    sets = [f'"{name}": {json.dumps(numbers)}' for name, numbers in generic_numbers(mirror).items()]
    out.write_text("{\n" + ",\n".join(sets) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Learn the numbers of the generic matcher from public files, in the folder that `TWICETOLD_MIRROR` names.

Usage: python pipelines/learn_matcher.py

Examples:
    TWICETOLD_MIRROR=mirror python pipelines/learn_matcher.py
    python pipelines/learn_matcher.py

Writes each set of numbers on one line, then hashes of the code and the files that they were learnt from, and a checksum
of all. A set of `held_out.json` is of all kinds of files but one, by which the default is evaluated on such data.
"""

import checkout  # noqa: F401 (for its effects)

import json
import os
from pathlib import Path
from typing import Any

from twicetold.errors import readable_errors
from twicetold.files import write_text
from twicetold.fingerprint import folder_digest
from twicetold.matching.generic import CHECKSUM, LEARNT_FROM, checksum
from twicetold.trained.fitted import static_vectors
from twicetold_lab.grid.code_identity import matcher_identity
from twicetold_lab.matching.learning import generic_numbers, held_out_numbers
from twicetold_lab.matching.sources import FILES

GENERIC, HELD_OUT = Path("src/twicetold/matching/generic.json"), Path("src/twicetold_lab/scoring/held_out.json")
KINDS = ("products", "questions", "titles")  # of datasets of the grid


def main() -> None:
    mirror = Path(os.environ.get("TWICETOLD_MIRROR", ""))
    with readable_errors():
        if missing := [name for name in FILES if not (mirror / name).is_file()]:
            raise ValueError(
                f"set TWICETOLD_MIRROR to a folder with the public files: {mirror / missing[0]} is missing"
            )
        if static_vectors(["a text"]) is None:
            raise ValueError("half of the sets are of vectors: install them with pip install 'twicetold[static]'")
        learnt_from = {"code": matcher_identity(), "files": folder_digest(mirror, FILES)}
        generic, held_out = generic_numbers(mirror), held_out_numbers(mirror, KINDS)
        write(HELD_OUT, held_out | {LEARNT_FROM: learnt_from})
        write(GENERIC, generic | {LEARNT_FROM: learnt_from})


def write(file: Path, sets: dict[str, Any]) -> None:
    """Write sets of numbers, one in a line, and their checksum."""
    lines = [f'"{name}": {json.dumps(numbers)}' for name, numbers in {**sets, CHECKSUM: checksum(sets)}.items()]
    write_text(file, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

"""Make src/twicetold_lab/data/sources/quora_wang.npz from the partition of Wang et al. 2017 (arXiv:1702.03814).

    python tools/wang_fingerprints.py <folder with dev.tsv and test.tsv> [<file to write>]

The partition's files are tab-separated without a header: label, question, question, id. They are tokenised; the reader
of Quora matches pairs by letters and digits, and so do the fingerprints. Prints the sha256 that
`twicetold_lab.data.sources.quora` expects.
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np

from twicetold_lab.data.sources import quora
from twicetold_lab.data.sources.quora import FingerprintedPairs, fingerprints
from twicetold_lab.data.sources.source_table import read_unquoted
from twicetold_lab.data.splits import TEST, VAL

FILES = {VAL: "dev.tsv", TEST: "test.tsv"}
COLUMNS = ("label", "q1", "q2", "id")
PAIRS = 10_000  # of each file


def of_partition(folder: Path) -> FingerprintedPairs:
    """The fingerprints of the partition's dev and test pairs, in the order of the files.

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if a file is not what was published.
    """
    found, labels, sides = [], [], []
    for side, name in FILES.items():
        rows = read_unquoted(folder / name, COLUMNS)
        label = rows.column("label").to_pylist()
        if len(rows) != PAIRS or label.count("0") != PAIRS // 2 or label.count("1") != PAIRS // 2 or rows.bad:
            raise ValueError(
                f"{name}: expected {PAIRS} pairs, half of them duplicates, got {len(rows)} with {label.count('1')} "
                f"duplicates; malformed: {len(rows.bad)}"
            )
        left, right = (quora.normal_form(rows.column(column)).to_pylist() for column in ("q1", "q2"))
        found.append(fingerprints(left, right))
        labels.append(np.array(label, np.float32))
        sides.append(np.full(PAIRS, side, np.int8))
    return FingerprintedPairs(np.concatenate(found), np.concatenate(labels), np.concatenate(sides))


def main() -> None:
    """Write the file and say what it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with dev.tsv and test.tsv")
    parser.add_argument("target", type=Path, nargs="?", default=quora.PARTITION, help="file to write")
    given = parser.parse_args()
    of_partition(given.folder).save(given.target)
    data = given.target.read_bytes()
    print(f"{given.target}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()

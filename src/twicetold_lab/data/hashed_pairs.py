"""Published val and test pairs as fingerprints: a split that can be distributed without its texts.

A fingerprint is the 64-bit BLAKE2b hash of a pair's normalised texts. The pairs can be recovered from the texts. Of
20,000 fingerprints and the 404,290 pairs of Quora in either order, two that differ are taken for the same with
probability 2 * 404,290 * 20,000 / 2^64 = 9e-10.

Shape letters: P published pairs, R pairs of texts.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twicetold.files import write_file
from twicetold_lab.data.splits import Side


@dataclass(frozen=True)
class FingerprintedPairs:
    """Labelled pairs of val and test, in their published order.

    Stored as `.npz` without pickle: `fingerprint` (uint64), `label` (uint8) and `side` (int8), each (P,).
    """

    fingerprint: NDArray[np.uint64]
    """(P,) of the left and the right text, in this order."""
    label: NDArray[np.float32]
    """(P,) 1 for duplicates, else 0."""
    side: Side
    """(P,) `VAL` or `TEST` of `twicetold_lab.data.splits`."""

    def __len__(self) -> int:
        return len(self.fingerprint)

    def save(self, path: Path) -> None:
        """Write the pairs; the same pairs give the same bytes."""
        with write_file(path) as temporary, temporary.open("wb") as out:
            np.savez_compressed(
                out,
                allow_pickle=False,
                fingerprint=self.fingerprint.astype("<u8"),
                label=self.label.astype(np.uint8),
                side=self.side.astype(np.int8),
            )

    @classmethod
    def load(cls, path: Path, *, sha256: str) -> "FingerprintedPairs":
        """Read the pairs.

        Args:
            path: of a file that `save` wrote.
            sha256: of the file. It is part of the caller's code, so a new file changes the code's version.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file has another checksum.
        """
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
        if actual != sha256:
            raise ValueError(f"{path} was changed: expected sha256 {sha256}, got {actual}. Restore it, or reinstall")
        with np.load(path, allow_pickle=False) as arrays:
            return cls(
                arrays["fingerprint"].astype(np.uint64),
                arrays["label"].astype(np.float32),
                arrays["side"].astype(np.int8),
            )


def fingerprints(left: Iterable[str], right: Iterable[str]) -> NDArray[np.uint64]:
    """(R,) fingerprints of pairs of normalised texts that hold no line end. The order of the two texts counts."""
    pairs = (f"{one}\n{other}".encode() for one, other in zip(left, right, strict=True))
    digests = b"".join(hashlib.blake2b(pair, digest_size=8).digest() for pair in pairs)
    return np.frombuffer(digests, "<u8").astype(np.uint64)

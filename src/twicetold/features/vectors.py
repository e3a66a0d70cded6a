"""Pretrained word vectors in GloVe's text format: one word and its numbers per line, separated by spaces.

Pennington, Socher and Manning, GloVe: Global Vectors for Word Representation, EMNLP 2014; public domain (PDDL).

Shape letters: W requested words, D dimensions.
"""

import os
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

from twicetold.data.content import Content
from twicetold.data.download import RemoteFile, fetch

ARCHIVES = (
    "https://nlp.stanford.edu/data/glove.6B.zip",
    "https://huggingface.co/stanfordnlp/glove/resolve/main/glove.6B.zip",
)
PUBLIC = {f"glove.6B.{size}d.txt": size for size in (50, 100, 200, 300)}
BLOCK = 1 << 24  # bytes of the file at a time


def word_vectors(file: Path, words: Sequence[str]) -> NDArray[np.float32]:
    """(W, D) vectors of the given words; zeros where the file has none.

    A word that the file lacks is looked up in lower case: GloVe 6B has no capitals.

    Args:
        file: `<downloads>/glove/glove.6B.50d.txt`, say. If it is not there and is one of `PUBLIC`, it is fetched from
            the mirror that `TWICETOLD_MIRROR` names, or from its public addresses.
        words: to look up.

    Raises:
        FileNotFoundError: if the file is not there, and is none that can be fetched.
        ValueError: if it holds no vectors.
    """
    wanted = pa.array(words, pa.string())
    lower = pc.utf8_lower(wanted)
    known, vectors = _read(at_hand(file), pa.chunked_array([wanted, lower]).unique())
    row = np.asarray(pc.fill_null(pc.coalesce(pc.index_in(wanted, known), pc.index_in(lower, known)), -1))
    found = np.zeros((len(row), vectors.shape[1]), np.float32)
    found[row >= 0] = vectors[row[row >= 0]]
    return found


def first_words(file: Path, count: int) -> list[str]:
    """The first `count` words of the file: GloVe's own files have the frequent ones first.

    Raises:
        FileNotFoundError: if the file is not there, and is none that can be fetched.
    """
    with at_hand(file).open(encoding="utf-8") as lines:
        return [line.partition(" ")[0] for line in islice(lines, count)]


def at_hand(file: Path) -> Path:
    """The file, fetched if it does not exist.

    Raises:
        FileNotFoundError: if it is not there, and is none that can be fetched.
    """
    if not file.is_file():
        _fetch(file)
    return file


def _read(file: Path, wanted: pa.Array) -> tuple[pa.Array, NDArray[np.float32]]:
    """Those of the wanted words that the file has, and their vectors."""
    with file.open(encoding="utf-8") as lines:
        numbers = [f"f{i}" for i in range(len(lines.readline().split(" ")) - 1)]
    if not numbers:
        raise ValueError(f"{file} holds no vectors: expected a word and its numbers in each line, separated by blanks")
    reader = csv.open_csv(
        file,
        csv.ReadOptions(column_names=["word", *numbers], block_size=BLOCK),
        csv.ParseOptions(delimiter=" ", quote_char=False, invalid_row_handler=lambda row: "skip"),
        csv.ConvertOptions(
            column_types={"word": pa.string(), **dict.fromkeys(numbers, pa.float32())},
            null_values=[""],
            strings_can_be_null=False,
        ),
    )
    kept = pa.Table.from_batches(
        [batch.filter(pc.is_in(batch["word"], wanted)) for batch in reader], reader.schema
    ).combine_chunks()
    if not len(kept):
        return pa.array([], pa.string()), np.zeros((0, len(numbers)), np.float32)
    return kept["word"].chunk(0), np.stack([kept[name].to_numpy() for name in numbers], axis=1)


def _fetch(file: Path) -> None:
    """Put one of GloVe's own files in its place: `<store>/<source>/<name>`, as `fetch` knows it."""
    if file.name not in PUBLIC:
        raise FileNotFoundError(
            f"no word vectors at {file}: put a file in GloVe's text format there, or name one of {', '.join(PUBLIC)}"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    columns = PUBLIC[file.name] + 1
    source = RemoteFile(
        name=file.name,
        source=file.parent.name,
        urls=ARCHIVES,
        member=file.name,
        content=Content(first_line="the -?[0-9]", lines=(400_000, 400_001), columns=(columns, columns), separator=" "),
        max_bytes=1 << 32,
    )
    mirror = os.environ.get("TWICETOLD_MIRROR")
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".fetched.") as folder:
        fetch([source], Path(folder, "raw"), mirror=mirror, store=file.parent.parent)
        Path(folder, "raw", file.name).replace(file)


def alike(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(W, D) the vectors, centred and scaled to length 1 on average; rows of zeros (no vector) stay zero."""
    found = vectors.any(axis=1)
    centred = np.zeros_like(vectors)
    if found.any():
        centred[found] = vectors[found] - vectors[found].mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1)[found]
    scaled: NDArray[np.float32] = centred / (lengths.mean() if lengths.any() else 1)
    return scaled

"""Pretrained word vectors in GloVe's text format: one word and its numbers per line, separated by spaces.

Pennington, Socher and Manning, GloVe: Global Vectors for Word Representation, EMNLP 2014; public domain (PDDL).

Shape letters: W requested words, D dimensions.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

BLOCK = 1 << 24  # bytes of the file at a time


def word_vectors(file: Path, words: Sequence[str]) -> NDArray[np.float32]:
    """Return (W, D) vectors of the given words; zeros where the file has none.

    A word that the file lacks is looked up in lower case: GloVe 6B has no capitals.

    Args:
        file: `data/pretrained/glove/glove.6B.50d.txt`, say, which the stage `download_pretrained` fetches.
        words: to look up.

    Raises:
        FileNotFoundError: if the file is not there.
        ValueError: if it holds no vectors.
    """
    wanted = pa.array(words, pa.string())
    lower = pc.utf8_lower(wanted)
    known, vectors = _read(require(file), pa.chunked_array([wanted, lower]).unique())
    row = np.asarray(pc.fill_null(pc.coalesce(pc.index_in(wanted, known), pc.index_in(lower, known)), -1))
    looked_up = np.zeros((len(row), vectors.shape[1]), np.float32)
    looked_up[row >= 0] = vectors[row[row >= 0]]
    return looked_up


def first_words(file: Path, count: int) -> list[str]:
    """Return the first `count` words of the file: GloVe's own files have the frequent ones first.

    Raises:
        FileNotFoundError: if the file is not there.
    """
    with require(file).open(encoding="utf-8") as lines:
        return [line.partition(" ")[0] for line in islice(lines, count)]


def extended(
    vocabulary: list[str], file: str | None, *, further: int, centred: bool = True
) -> tuple[list[str], NDArray[np.float32] | None]:
    """Return a vocabulary with the first words of a file of vectors, and the vectors of its words.

    Args:
        vocabulary: the words of the train texts.
        file: of the vectors; None for none.
        further: how many of its first words follow those of the train texts.
        centred: subtract the mean of the vectors and scale them, see `alike`.

    Raises:
        ValueError: if further words are to come from no file.
    """
    if file is None:
        if further:
            raise ValueError(f"further={further} words would be those of a file of vectors: set vectors too, or 0")
        return vocabulary, None
    whole = list(dict.fromkeys([*vocabulary, *first_words(Path(file), further)]))
    vectors = word_vectors(Path(file), whole)
    return whole, alike(vectors) if centred else vectors


def _read(file: Path, wanted: pa.Array) -> tuple[pa.Array, NDArray[np.float32]]:
    """Return those of the wanted words that the file has, and their vectors."""
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
    table = pa.Table.from_batches(
        [batch.filter(pc.is_in(batch["word"], wanted)) for batch in reader], reader.schema
    ).combine_chunks()
    if not len(table):
        return pa.array([], pa.string()), np.zeros((0, len(numbers)), np.float32)
    return table["word"].chunk(0), np.stack([table[name].to_numpy() for name in numbers], axis=1)


def require(file: Path) -> Path:
    """Return the file, which must be there.

    Raises:
        FileNotFoundError: if it does not exist.
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"no word vectors at {file}: put a file in GloVe's text format there, or name "
            f"data/pretrained/glove/glove.6B.50d.txt, which `python pipelines/download_pretrained.py pretrained=glove` "
            "fetches"
        )
    return file


def alike(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (W, D) the vectors, centred and scaled to length 1 on average; rows of zeros (no vector) stay zero."""
    present = vectors.any(axis=1)
    centred = np.zeros_like(vectors)
    if present.any():
        centred[present] = vectors[present] - vectors[present].mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1)[present]
    scaled: NDArray[np.float32] = centred / (lengths.mean() if lengths.any() else 1)
    return scaled

"""Stages of terms: `terms` of a block, `vocabulary` of all, `rows` of each block, `forms` of words, and `postings`.

Before these, `long` counts the words of long texts of a block, and `often` those of all, as long texts are shortened.

The terms of a block are read twice, for the vocabulary and for the rows, as that is faster than writing them down.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from twicetold.matching.candidates import COMMON, POSTED, heaviest, lexical_rows, of_terms
from twicetold.matching.terms import READ, Csr, TermsOfBlock, Vocabulary, as_compared, long_texts, shorten, stacked
from twicetold.neighbours.grouping import Ints
from twicetold.normal_form import normal_form
from twicetold.staged.arrays import in_memory, mapped, write_arrays
from twicetold.staged.filed import (
    FORMS,
    VECTORS,
    mapped_batch,
    read_vocabulary,
    terms_in_files,
    vocabulary_of,
    write_batch,
    write_rows,
    write_vocabulary,
)
from twicetold.staged.order_stages import ordered_texts
from twicetold.staged.plan import Plan, numbered
from twicetold.trained.fitted import static_vectors

POSTING = ("indptr", "indices", "data")


def long(plan: Plan, name: str) -> dict[str, Any]:
    """Count words of the long texts of a block.

    Returns:
        Number of these texts.
    """
    _, rows, frequency = long_texts(_plain(plan, name), plan.distinct)
    words = pa.array(frequency.keys(), pa.large_string())
    write_batch(plan, "long", name, {"word": words, "texts": pa.array(frequency.values(), pa.int64())})
    return {"texts": len(rows)}


def often(plan: Plan, name: str) -> dict[str, Any]:
    """Count words of the long texts of all blocks."""
    blocks = pa.Table.from_batches([mapped_batch(plan.file("long", each, "arrow")) for each in plan.blocks])
    summed = blocks.group_by("word").aggregate([("texts", "sum")]).combine_chunks()
    write_batch(plan, "often", name, {"word": summed["word"].chunk(0), "texts": summed["texts_sum"].chunk(0)})
    return {}


def terms(plan: Plan, name: str) -> dict[str, Any]:
    """Find the terms of a block."""
    known = Vocabulary.merged([block.vocabulary for block in _blocks(plan, name)])
    write_vocabulary(plan, "terms", name, known)
    return {}


def vocabulary(plan: Plan, name: str) -> dict[str, Any]:
    """Merge the terms of all blocks."""
    write_vocabulary(
        plan,
        "vocabulary",
        name,
        Vocabulary.merged([read_vocabulary(plan.file("terms", each, "arrow")) for each in plan.blocks]),
    )
    return {}


def rows(plan: Plan, name: str) -> dict[str, Any]:
    """Write rows of the terms of a block, its vectors, and the entries by which its texts look for others.

    Returns:
        Columns of the vectors, and texts that look among fewer others than they would.
    """
    known = vocabulary_of(plan)
    frequency = frequency_of(known)
    parts = [known.rows(block) for block in _blocks(plan, name)]
    whole = {kind: stacked([part.pop(kind) for part in parts]) for kind in tuple(parts[0])}
    write_arrays(plan, "rows", name, halves=np.unique(whole.pop("halves")))
    asking, unfinished = heaviest(lexical_rows(whole["letters"], whole["words"]), frequency)
    common = np.unique(asking.indices)
    write_arrays(plan, "rows", name, common=common[frequency[common] > COMMON].astype(np.int64))
    vectors = static_vectors(ordered_texts(plan, name))
    dense = {} if vectors is None else {VECTORS: vectors}
    write_rows(plan, "rows", name, {**whole, **dense, "asking": asking})
    return {"width": 0 if vectors is None else vectors.shape[1], "unfinished": unfinished}


def forms(plan: Plan, name: str) -> dict[str, Any]:
    """Find forms of words.

    Returns:
        Number of words that were not compared with all others.
    """
    found = vocabulary_of(plan).forms(np.unique(in_memory(plan, "rows", plan.blocks, "halves")))
    write_rows(plan, "forms", name, {kind: found[kind] for kind in FORMS})
    return {"crowded": found["crowded"]}


def postings(plan: Plan, name: str) -> dict[str, Any]:
    """Write which texts, of `POSTED`, have the terms that are looked for."""
    frequency = frequency_of(vocabulary_of(plan))
    asked = frequency <= COMMON
    asked[in_memory(plan, "rows", plan.blocks, "common")] = True
    start, rows = int(name) * POSTED, terms_in_files(plan)
    some = slice(start, min(start + POSTED, plan.distinct))
    posting = of_terms(lexical_rows(rows.letters[some], rows.words[some]), slice(0, some.stop - start), asked)
    write_arrays(plan, "postings", name, **{kind: getattr(posting, kind) for kind in POSTING})
    return {}


def posted(plan: Plan) -> list[str]:
    """Return names of the tasks of `postings`."""
    return numbered(-(-plan.distinct // POSTED))


def posting_of(plan: Plan, name: str, terms: int) -> tuple[int, Csr]:
    """Return the first of some texts, and (T, b) which of them have a term."""
    indptr, indices, data = (mapped(plan, "postings", name, kind) for kind in POSTING)
    start = int(name) * POSTED
    shape = terms, min(start + POSTED, plan.distinct) - start
    return start, sparse.csr_array((data, indices, indptr), shape=shape)


def frequency_of(known: Vocabulary) -> Ints:
    """Return (T,) texts that have each term of `lexical_rows`."""
    return np.append(known.frequency["letters"], known.frequency["words"])


def _plain(plan: Plan, name: str) -> list[str]:
    return list(map(as_compared, normal_form(ordered_texts(plan, name))))


def _blocks(plan: Plan, name: str) -> list[TermsOfBlock]:
    texts = _plain(plan, name)
    if plan.shortened:
        counts = mapped_batch(plan.file("often", "all", "arrow"))
        frequency = dict(zip(counts["word"].to_pylist(), counts["texts"].to_pylist(), strict=True))
        most, rows, _ = long_texts(texts, plan.distinct)
        shorten(texts, rows, frequency, most)
    return [TermsOfBlock.of(texts[start : start + READ]) for start in range(0, len(texts), READ)]

"""Tokens of texts whose words are taken apart once each: those of the whole texts, whatever these hold."""

import json
from itertools import pairwise

import numpy as np
import pytest

from twicetold.features.tokenizer_parts import BLANK, BLANKS, loaded, token_ids

LETTERS = "abc"
MERGES = [(BLANK, "a"), ("a", "b"), ("b", "b"), (f"{BLANK}a", "b"), (BLANK, BLANK), ("c", "c"), ("a", "c")]
ACROSS = ("b", f"{BLANK}a")  # a merge that makes a piece of the end of a word and the next one


def described(*, merges=MERGES, added=(), **changed):
    pieces = dict.fromkeys(["<unk>", BLANK, *LETTERS, *("".join(pair) for pair in merges)])
    model = {"type": "BPE", "vocab": {piece: number for number, piece in enumerate(pieces)}, "merges": merges}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokens = [{"id": len(pieces) + number, "content": text, **special} for number, text in enumerate(added)]
    parts = {"normalizer": BLANKS, "pre_tokenizer": None, "post_processor": None, "decoder": None}
    return json.dumps(
        {"version": "1.0", "added_tokens": tokens, **parts, "model": model | {"unk_token": "<unk>"}} | changed
    )


@pytest.mark.parametrize(
    "tokenizer",
    [
        described(),
        described(added=["<s>", "b c"]),
        described(merges=[ACROSS, *MERGES]),
        described(normalizer={"type": "Lowercase"}),
    ],
    ids=["words alone", "added tokens", "a piece across words", "another sign for blanks"],
)
def test_they_are_those_of_whole_texts(tokenizer):
    draw = np.random.default_rng(0)
    parts = [*LETTERS, *LETTERS, " ", " ", "  ", BLANK, "<s>", "é", "\n"]
    texts = ["", " ", "a", " a", "a ", *("".join(draw.choice(parts, draw.integers(1, 12))) for _ in range(500))]
    indptr, ids = token_ids(tokenizer, texts, max_length=None, special=False)
    whole = [loaded(tokenizer, None).encode(text, add_special_tokens=False).ids for text in texts]
    assert [ids[start:stop].tolist() for start, stop in pairwise(indptr)] == whole

"""Tokenizers of pretrained transformers, built of known parts alone.

A stored tokenizer is JSON that may come from anywhere, and the `tokenizers` library does whatever it says: normalizers
that double a text forty times, padding to a billion tokens, templates with a million special tokens. So only the parts
that text encoders have are built. None of them makes a text longer than by a small factor, and none of them occurs
twice in a sequence. Padding, truncation and decoder are left out: nobody here uses those of the file.
"""

import base64
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.features.rows import runs

NORMALIZERS = (
    "BertNormalizer",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Precompiled",
    "Prepend",
    "Replace",
    "Strip",
    "StripAccents",
)
PRE_TOKENIZERS = (
    "BertPreTokenizer",
    "ByteLevel",
    "Digits",
    "Metaspace",
    "Punctuation",
    "Whitespace",
    "WhitespaceSplit",
)
POST_PROCESSORS = ("BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing")
MODELS = ("BPE", "Unigram", "WordPiece")
PATTERNS = (" {2,}", r"\s{2,}|[\n\r\t]", r"\s+")  # regular expressions that match a blank at least, in linear time
AFFIXES = ("continuing_subword_prefix", "end_of_word_suffix")
BLANK = "\u2581"
_TO_BLANK = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}  # as Llama's, with one before a text
BLANKS = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": BLANK}, _TO_BLANK]}
UNUSED = ("decoder", "padding", "truncation")
LONGEST_PART = 16  # replacements in a sequence, pieces of a template, characters of an affix
LONGEST_REPLACEMENT = 64  # bytes of a character's in a compiled map; the longest of Unicode's has 33
LONGEST_WORD = 1000  # letters of a word that is taken apart; 100 in BERT's
BLOCK = 1024  # texts that are taken apart at once: what the tokenizer hands back is bulky
LETTERS = 1 << 23  # of the vocabulary, from which a tree of letters is made; 2 million in the largest known


@lru_cache(maxsize=4)
def loaded(described: str, max_length: int | None) -> Any:
    """Return the tokenizer of the `tokenizers` library.

    Args:
        described: JSON of that library.
        max_length: tokens of a text that are read, special ones included; None for all.

    Raises:
        ValueError: if it has other parts than those above, or one that makes texts long.
    """
    from tokenizers import Tokenizer

    content = json.loads(described)
    if not isinstance(content, dict):
        raise ValueError("expected an object as tokenizer")
    normalizers = list(_parts(content, "normalizer", "normalizers", NORMALIZERS))
    list(_parts(content, "pre_tokenizer", "pretokenizers", PRE_TOKENIZERS))
    processors = list(_parts(content, "post_processor", "processors", POST_PROCESSORS))
    for part in normalizers:
        if part["type"] == "Replace":
            _require_no_growth(part)
        if part["type"] == "Precompiled":
            _require_short_replacements(part)
        if part["type"] == "Prepend" and len(part.get("prepend") or "") > LONGEST_PART:
            raise ValueError(f"expected a tokenizer to put at most {LONGEST_PART} characters before a text")
    for part in processors:
        if part["type"] == "TemplateProcessing":
            _require_short_templates(part)
    _require_model(content.get("model"))
    tokenizer: Any = Tokenizer.from_str(json.dumps({**content, **dict.fromkeys(UNUSED)}))
    if max_length is not None:
        tokenizer.enable_truncation(max_length)
    return tokenizer


def token_ids(
    described: str, texts: Sequence[str], *, max_length: int | None, special: bool
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the tokens of texts, one sequence per text.

    Args:
        described: see `loaded`.
        texts: N of them.
        max_length: see `loaded`.
        special: with the special tokens that the tokenizer adds to a text.

    Returns:
        (N + 1,) where each text's tokens begin, and the ids of all tokens.
    """
    tokenizer, listed = loaded(described, max_length), list(texts)
    entire = _left_entire(described) if max_length is None and not special else None
    place: defaultdict[str, int] = defaultdict(count().__next__)  # words, or texts; each is taken apart once
    sizes, numbers = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    for start in range(0, len(listed), BLOCK):
        block = listed[start : start + BLOCK]
        words = [[text] if entire is None or entire(text) else text.split(" ") for text in block]
        sizes.append(np.fromiter(map(len, words), np.int64, len(words)))
        numbers.append(np.fromiter(map(place.__getitem__, chain.from_iterable(words)), np.int32, sizes[-1].sum()))
    lengths, ids, distinct = [np.empty(0, np.int64)], [np.empty(0, np.uint32)], list(place)
    for start in range(0, len(distinct), BLOCK):
        block = distinct[start : start + BLOCK]
        found = [encoding.ids for encoding in tokenizer.encode_batch_fast(block, add_special_tokens=special)]
        lengths.append(np.fromiter(map(len, found), np.int64, len(found)))
        ids.append(np.fromiter(chain.from_iterable(found), np.uint32, lengths[-1].sum()))
    length, tokens = np.concatenate(lengths), np.concatenate(ids)
    indptr = np.append(0, np.cumsum(length[np.concatenate(numbers)]))[np.cumsum(np.concatenate(sizes))]
    first = np.cumsum(length) - length
    return indptr, np.concatenate([tokens[runs(first[number], length[number])] for number in numbers])


@lru_cache(maxsize=4)
def _left_entire(described: str) -> Callable[[str], Any] | None:
    """Return a function that is true of texts whose words must stay together; None: those of all texts.

    Words between single blanks have the same tokens alone where a blank becomes the sign before a word, which nothing
    but other blanks joins to what is before it.
    """
    content = json.loads(described)
    model, added = content["model"], content.get("added_tokens") or []
    whole = [content.get("pre_tokenizer"), *map(model.get, (*AFFIXES, "ignore_merges"))]
    if any(whole) or model["type"] != "BPE" or content.get("normalizer") != BLANKS or BLANK not in model["vocab"]:
        return None
    if any(BLANK in piece.lstrip(BLANK) for piece in model["vocab"]) or any(token["normalized"] for token in added):
        return None
    return re.compile("|".join([r"\A |  | \Z", BLANK, *(re.escape(token["content"]) for token in added)])).search


def _parts(content: Mapping[str, Any], name: str, inner: str, known: tuple[str, ...]) -> Iterator[Any]:
    """Yield the part of this name, or those of a sequence, each of a known kind; each kind once, except `Replace`."""
    if (whole := content.get(name)) is None:
        return
    listed = isinstance(whole, dict) and whole.get("type") == "Sequence"
    parts = whole.get(inner) if listed else [whole]
    seen: list[Any] = []
    for part in parts if isinstance(parts, list) else [parts]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in known or (kind in seen and kind != "Replace") or len(seen) == LONGEST_PART:
            raise ValueError(
                f"expected as {name} of a tokenizer {', '.join(known)}, at most {LONGEST_PART} and each at most once, "
                f"got {kind!r:.40}"
            )
        seen.append(kind)
        yield part


def _require_no_growth(replace: Mapping[str, Any]) -> None:
    """Refuse to replace a text by a longer one."""
    pattern, by = replace.get("pattern"), replace.get("content")
    if isinstance(pattern, dict) and len(pattern) == 1 and isinstance(by, str):
        literal = pattern.get("String")
        if isinstance(literal, str) and len(by) <= len(literal) and literal:
            return
        if pattern.get("Regex") in PATTERNS and len(by) <= 1:
            return
    raise ValueError(
        f"expected a tokenizer to replace texts by no longer ones, and regular expressions of {PATTERNS} alone"
    )


def _require_short_replacements(precompiled: Mapping[str, Any]) -> None:
    """Refuse a map of characters in which one becomes a long text: length and tree, then texts that end in zeros."""
    data = base64.b64decode(precompiled.get("precompiled_charsmap") or "")
    texts = data[4 + int.from_bytes(data[:4], "little") :]
    if len(data) < 4 or max(map(len, texts.split(b"\0"))) > LONGEST_REPLACEMENT:
        raise ValueError(f"expected a map of characters to at most {LONGEST_REPLACEMENT} bytes each in a tokenizer")


def _require_short_templates(template: Mapping[str, Any]) -> None:
    """Refuse to add many tokens to a text, or to repeat it."""
    special = template.get("special_tokens")
    added = [len(token["ids"]) for token in special.values()] if isinstance(special, dict) else [LONGEST_PART + 1]
    for name in ("single", "pair"):
        pieces: Any = template.get(name)
        short = isinstance(pieces, list) and len(pieces) * max([1, *added]) <= LONGEST_PART
        repeated = short and [piece["Sequence"]["id"] for piece in pieces if "Sequence" in piece]
        if not repeated or len(set(repeated)) < len(repeated):
            raise ValueError(
                f"expected a template of at most {LONGEST_PART} tokens with each text once in a tokenizer, got another "
                f"as {name}"
            )


def _require_model(model: Any) -> None:
    """Refuse what makes a vocabulary large in memory, slow or random."""
    if not isinstance(model, dict) or model.get("type") not in MODELS:
        kind = model.get("type") if isinstance(model, dict) else None
        raise ValueError(f"expected as model of a tokenizer {', '.join(MODELS)}, got {kind!r:.40}")
    for name in AFFIXES:
        if len(model.get(name) or "") > LONGEST_PART:
            raise ValueError(f"expected at most {LONGEST_PART} characters as {name} of a tokenizer")
    if model.get("dropout"):
        raise ValueError("expected a tokenizer without dropout")
    if model.get("max_input_chars_per_word", 0) > LONGEST_WORD:
        raise ValueError(f"expected at most {LONGEST_WORD} as max_input_chars_per_word of a tokenizer")
    vocabulary: Any = model.get("vocab") or ()
    if sum(len(piece[0] if isinstance(piece, list) else piece) for piece in vocabulary) > LETTERS:
        raise ValueError(f"expected at most {LETTERS:,} letters in the vocabulary of a tokenizer")
    if model["type"] == "Unigram":
        known = type(model.get("unk_id")) is int and all(math.isfinite(score) for _, score in vocabulary)
    else:
        known = model.get("unk_token") is None or model["unk_token"] in vocabulary
    if not known:
        raise ValueError("expected finite scores and the unknown token in the vocabulary of a tokenizer")

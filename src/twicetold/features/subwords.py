"""Texts as sequences of subwords: byte pair encoding, learnt on the train texts.

Sennrich, Haddow and Birch, Neural Machine Translation of Rare Words with Subword Units, ACL 2016 (arXiv:1508.07909).
Merges never cross words, so each distinct word is split once.

Shape letters: N texts, W words, K subwords, U distinct words.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from twicetold.conventions import UNKNOWN_TOKEN
from twicetold.features.rows import CsrRows, Declared, runs
from twicetold.features.splitting import Tokens, characters, words
from twicetold.features.tokens import cut_off, vocabulary_of

UNKNOWN_SUBWORD = "<unk>"
BEGIN_OF_WORD = "\u2581"  # a letter like any other to the algorithm (Kudo and Richardson 2018, SentencePiece)
WRITTEN = {  # by `fit`, besides vocabulary and merges; what is missing here is none or false
    "version": "1.0",
    "added_tokens": [
        {
            "id": UNKNOWN_TOKEN,
            "content": UNKNOWN_SUBWORD,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    ],
    "pre_tokenizer": {"type": "WhitespaceSplit"},
}
WRITTEN_MODEL = {"type": "BPE", "unk_token": UNKNOWN_SUBWORD}


@dataclass(eq=False)
class Subwords(Declared):
    """Subwords of a text, in order.

    Args:
        max_features: size of the vocabulary at most, characters included.
        lower_case: take `Bank` and `bank` for one word.
        min_frequency: pairs that occur less often in the train texts are not merged.
        max_alphabet: characters at most, most frequent first; the others are unknown.
        max_length: subwords of a text that are read; None for all.

    Attributes:
        tokenizer_: vocabulary and merges, as JSON of the `tokenizers` library.
    """

    max_features: int = 8000
    lower_case: bool = False
    min_frequency: int = 2
    max_alphabet: int = 1000
    max_length: int | None = None
    ordered = True

    def fit(self, texts: Sequence[str], y: None = None) -> Self:
        """Learn the merges.

        Raises:
            ValueError: if the texts have no word.
        """
        from tokenizers import trainers

        tokens = words(texts, lower_case=self.lower_case)
        if not len(tokens.codes):
            raise ValueError(f"the {len(tokens)} train texts have no word to learn subwords from")
        # The library truncates a larger alphabet in random order; it leaves one of the right size unchanged.
        letters = characters(texts, lower_case=self.lower_case)
        alphabet = [BEGIN_OF_WORD, *vocabulary_of(letters, min_df=1, max_features=self.max_alphabet)]
        tokenizer = _tokenizer()
        trainer = trainers.BpeTrainer(
            vocab_size=self.max_features,
            min_frequency=self.min_frequency,
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            special_tokens=[UNKNOWN_SUBWORD],  # so it gets number 0
            show_progress=False,
        )
        tokenizer.train_from_iterator(_respaced(tokens), trainer)
        assert tokenizer.token_to_id(UNKNOWN_SUBWORD) == UNKNOWN_TOKEN
        self.tokenizer_: str = tokenizer.to_str()
        return self

    def transform(self, texts: Sequence[str]) -> CsrRows:
        """Return one sequence of numbers per text."""
        self.require_fitted()
        tokens, tokenizer = words(texts, lower_case=self.lower_case), self._loaded()
        taken_apart = [word.ids for word in tokenizer.encode_batch_fast(_marked(tokens.spellings).to_pylist())]
        length = np.fromiter(map(len, taken_apart), np.int64, len(taken_apart))  # (U,)
        pieces = np.fromiter(chain.from_iterable(taken_apart), np.int32, length.sum())
        pieces *= self._known(pieces, length, mark=tokenizer.token_to_id(BEGIN_OF_WORD))
        per_word = length[tokens.codes]  # (W,)
        ends = np.concatenate([[0], np.cumsum(per_word)])
        entries = runs((np.cumsum(length) - length)[tokens.codes], per_word)  # (K,)
        width = tokenizer.get_vocab_size()
        return cut_off(ends[tokens.offsets], pieces[entries], width=width, max_length=self.max_length)

    @staticmethod
    def _known(pieces: NDArray[np.int32], length: NDArray[np.int64], *, mark: int) -> NDArray[np.bool_]:
        """Mark the pieces that belong to a word with at least one known piece besides its mark."""
        word = np.repeat(np.arange(len(length)), length)
        known = np.bincount(word, (pieces != UNKNOWN_TOKEN) & (pieces != mark), minlength=len(length)) > 0
        return known[word]

    @property
    def shape(self) -> dict[str, int]:
        """`width`: how many numbers there are, the one for unknown characters included."""
        return {"width": self._loaded().get_vocab_size()}

    def _loaded(self) -> Any:
        return _rebuilt(self.tokenizer_)


@lru_cache(maxsize=4)
def _rebuilt(described: str) -> Any:
    """Return the tokenizer that `fit` made, of its vocabulary and merges.

    Stored state may come from anywhere, and a tokenizer does whatever it says: pad to a billion tokens, say. So nothing
    else of it is read, and it is refused if it asks for anything that `fit` does not write.

    Raises:
        ValueError: if it does, or the numbers of the vocabulary are others than 0, 1, ...
    """
    content = json.loads(described)
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict):
        raise ValueError("expected an object with a model as tokenizer_")
    for settings, written in ((content, WRITTEN), (model, WRITTEN_MODEL)):
        for name, value in settings.items():
            if value and name not in ("model", "vocab", "merges") and value != written.get(name):
                raise ValueError(f"expected {name} of tokenizer_ to be {written.get(name)}, as fit writes it")
    vocabulary, merges = model.get("vocab"), model.get("merges")
    if not isinstance(vocabulary, dict) or not isinstance(merges, list):
        raise ValueError("expected a vocabulary and a list of merges in tokenizer_")
    numbers = vocabulary.values()
    if not all(type(number) is int for number in numbers) or sorted(numbers) != list(range(len(vocabulary))):
        raise ValueError(f"expected the numbers 0 to {len(vocabulary) - 1} in the vocabulary of tokenizer_, each once")
    if vocabulary.get(UNKNOWN_SUBWORD) != UNKNOWN_TOKEN or BEGIN_OF_WORD not in vocabulary:
        raise ValueError(f"expected {UNKNOWN_SUBWORD} as number {UNKNOWN_TOKEN} and {BEGIN_OF_WORD} in tokenizer_")
    pairs = [tuple(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges]  # texts before 0.20
    tokenizer = _tokenizer(vocab=vocabulary, merges=pairs)
    tokenizer.add_special_tokens([UNKNOWN_SUBWORD])
    return tokenizer


def _tokenizer(**learnt: Any) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.BPE(**learnt, unk_token=UNKNOWN_SUBWORD))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def _marked(spellings: pa.LargeStringArray) -> pa.LargeStringArray:
    mark, nothing = (pa.scalar(text, spellings.type) for text in (BEGIN_OF_WORD, ""))
    return pc.binary_join_element_wise(mark, spellings, nothing)


def _respaced(tokens: Tokens) -> list[str]:
    """Mark words and put one blank between them, so that splitting at blanks finds the same words."""
    in_order = _marked(tokens.spellings).take(pa.array(tokens.codes))
    per_text = pa.ListArray.from_arrays(pa.array(tokens.offsets, pa.int32()), in_order)
    respaced: list[str] = pc.binary_join(per_text, pa.scalar(" ", in_order.type)).to_pylist()
    return respaced

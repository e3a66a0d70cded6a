"""Differences between texts that a model ignores, by the settings of its features.

What is fitted to a file reads texts in their normal form; a trained family reads them as it has learnt to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FOLDED = "In their normal form: capitals, Unicode forms and invisible characters make no difference."
TOKENIZER = "As the tokenizer of its vectors does, which may tell capitals and Unicode forms apart."
LOWER = "In lower case: capitals make no difference"
CAPITALS = "As they are: capitals make a difference"
FORMS = "Unicode forms (NFD, full-width letters) do"
COMPATIBLE = "Unicode forms do not (NFKC)"
NO_SYMBOLS = "Symbols are left out."
TOKENIZERS = ("static_tokens", "model_tokens", "tokens_and_letters")
OF_LETTERS = ("bag_of_words", "tfidf", "bm25", "word_hashing", "letter_tfidf", "word_trigrams")
"""Modules whose featurisers read letters and digits alone, in lower case."""
ALWAYS_LOWER = (*OF_LETTERS, "word_grams")
Settings = Mapping[str, Any]


def reading(features: Sequence[Settings]) -> list[str]:
    """Sentences about what makes no difference to the parts of a model, each once.

    Args:
        features: settings of the featuriser of the model, or of each member.
    """
    parts = (part for each in features for part in _parts(each, {}))
    return list(dict.fromkeys(_of_part(*part) for part in parts))


def _parts(settings: Any, cleaned: Settings) -> Iterator[tuple[Settings, Settings]]:
    """The featurisers that read texts themselves, each with the settings of the one that cleans texts for it."""
    if isinstance(settings, list):
        for each in settings:
            yield from _parts(each, cleaned)
    elif isinstance(settings, Mapping) and "_target_" in settings:
        inner = [value for value in settings.values() if isinstance(value, Mapping | list)]
        found = [part for value in inner for part in _parts(value, settings if "nfkc" in settings else cleaned)]
        yield from found or [(settings, cleaned)]


def _of_part(settings: Settings, cleaned: Settings) -> str:
    module = str(settings["_target_"]).rpartition(".")[0].rpartition(".")[2]
    if module == "folded":
        return FOLDED
    if module in TOKENIZERS:
        return TOKENIZER
    lower = cleaned.get("lower_case") or settings.get("lower_case", False) or module in ALWAYS_LOWER
    forms = f"{LOWER if lower else CAPITALS}; {COMPATIBLE if cleaned.get('nfkc') else FORMS}."
    return f"{forms} {NO_SYMBOLS}" if cleaned.get("symbols") or module in OF_LETTERS else forms

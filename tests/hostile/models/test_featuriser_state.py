"""Fitted state that does not fit the rows made of it, and tokenizers that do not end: refused when they are loaded."""

import base64
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from saved_models import recipe_of, save_model
from twicetold import layout
from twicetold.evaluation.decision import Decision
from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.bm25 import Bm25Weights
from twicetold.features.letter_tfidf import LetterTfIdf
from twicetold.features.rows import CsrRows
from twicetold.features.saved import save_fitted
from twicetold.features.subwords import Subwords
from twicetold.features.tfidf import TfIdf
from twicetold.features.tokenizer_parts import loaded
from twicetold.features.tokens import Words
from twicetold.features.views import View, Views
from twicetold.features.word_grams import WordGrams
from twicetold.features.word_hashing import WordHashing
from twicetold.features.word_trigrams import WordTrigrams
from twicetold.models.tfidf import TfIdfCosine
from twicetold.trained.model_folder import load_featuriser, load_model
from twicetold.trained.scoring import Scorer

BILLION = 10**9
TEXTS = ["the cat sat on the mat", "a dog sat on the log", "rain is falling on the town", "the town is in the rain"]


# columns


@pytest.mark.parametrize("column", [-1, 3, 1 << 30])
@pytest.mark.parametrize("width", [3, 0])
def test_rows_have_no_column_beyond_their_width(column, width):
    with pytest.raises(ValueError, match=f"expected columns from 0 to {width - 1}, got"):
        CsrRows(np.array([0, 2]), np.array([0, column], np.int32), None, width)


@pytest.mark.parametrize("column", [-1, 3])
def test_rows_from_disk_are_checked_too(tmp_path, column):
    CsrRows(np.array([0, 2]), np.array([0, 2], np.int32), None, 3).save(tmp_path / "rows")
    np.save(tmp_path / "rows" / "indices.npy", np.array([0, column], np.int32))
    with pytest.raises(ValueError, match="expected columns from 0 to 2"):
        CsrRows.load(tmp_path / "rows")


def views():
    return Views([View("a", ["text"], WordHashing()), View("b", ["text"], WordHashing(letters=0, words=1))])


STATE = {
    # bounds, by which a family cuts the columns of views
    "bounds beyond": (views, {"bounds_": [0, 40, BILLION]}),
    "bounds short of the columns": (views, {"bounds_": [0, 1, 2]}),
    "bounds between others": (views, lambda state: {"bounds_": [0, 1, state["bounds_"][-1]]}),
    "bounds below 0": (views, lambda state: {"bounds_": [-5, *state["bounds_"][1:]]}),
    "no bounds": (views, {"bounds_": None}),
    # counts, by which words are weighed
    "too few counts": (lambda: Words(sif_a=0.1), {"counts_": np.ones(3, np.int64)}),
    "counts below 0": (lambda: Words(sif_a=0.1), lambda state: {"counts_": -state["counts_"]}),
    "counts of a table": (lambda: Words(counted=True), lambda state: {"counts_": state["counts_"][:, None]}),
    "counts with fractions": (lambda: Words(counted=True), lambda state: {"counts_": state["counts_"] + 0.5}),
    "too many counts": (lambda: Words(counted=True), {"counts_": np.ones(999, np.int64)}),
    "too few counts of words with n-grams": (WordGrams, {"counts_": np.ones(3, np.int64)}),
    "too many counts of words with n-grams": (WordGrams, {"counts_": np.ones(999, np.int64)}),
    # vocabularies
    "numbers of one's own": (
        TfIdf,
        lambda state: {"vocabulary_": {w: 7 * i for i, w in enumerate(state["vocabulary_"])}},
    ),
    "numbers with fractions": (
        TfIdf,
        lambda state: {"vocabulary_": {w: i + 0.5 for i, w in enumerate(state["vocabulary_"])}},
    ),
    "numbers below 0": (BagOfWords, lambda state: {"vocabulary_": {w: -i for i, w in enumerate(state["vocabulary_"])}}),
    "numbers in order": (BagOfWords, lambda state: {"vocabulary_": {w: i for i, w in enumerate(state["vocabulary_"])}}),
    "a word twice": (TfIdf, lambda state: {"vocabulary_": state["vocabulary_"][:-1] + state["vocabulary_"][:1]}),
    "no words": (TfIdf, {"vocabulary_": []}),
    "a word more than weights": (TfIdf, lambda state: {"vocabulary_": [*state["vocabulary_"], "more"]}),
    "a weight more than words": (Bm25Weights, lambda state: {"idf_": np.append(state["idf_"], state["idf_"])}),
    "an n-gram more than weights": (LetterTfIdf, lambda state: {"letter_grams_": [*state["letter_grams_"], "zzz"]}),
    "n-grams of four letters": (WordHashing, {"letter_grams_": ["abcd"]}),
    "trigrams that are numbers": (WordTrigrams, {"letter_grams_": [1, 2, 3]}),
    "words that are numbers": (Words, {"vocabulary_": [1, 2, 3]}),
    "no mean length": (Bm25Weights, {"mean_length_": "long"}),
}


@pytest.mark.parametrize("damage", STATE)
def test_state_that_does_not_fit_its_rows_is_refused(tmp_path, damage):
    made, changes = STATE[damage]
    featuriser = made().fit(TEXTS)
    save_fitted(featuriser, tmp_path)
    assert len(load_featuriser(recipe_of(featuriser), tmp_path).transform(TEXTS)) == len(TEXTS)
    arrays, rest = (
        load_file(tmp_path / layout.FEATURISER_ARRAYS),
        json.loads((tmp_path / layout.FEATURISER_STATE).read_text()),
    )
    changed = changes({**arrays, **rest}) if callable(changes) else changes
    for name, value in changed.items():
        arrays.pop(name, None)
        rest.pop(name, None)
        (arrays if isinstance(value, np.ndarray) else rest)[name] = value
    save_file(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()}, tmp_path / layout.FEATURISER_ARRAYS
    )
    (tmp_path / layout.FEATURISER_STATE).write_text(json.dumps(rest))
    with pytest.raises((ValueError, TypeError, AttributeError)):  # `load_model` makes one message of them
        load_featuriser(recipe_of(featuriser), tmp_path)


# subwords


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    featuriser = Subwords(max_features=60).fit(TEXTS)
    scorer = Scorer(featuriser, TfIdfCosine(**featuriser.shape).eval(), Decision(0.5, 2.0, -1.0))
    return save_model(tmp_path_factory.mktemp("subwords") / "model", scorer, settings={}, data={})


def tokenizer_of(folder):
    return json.loads(json.loads((folder / layout.FEATURISER_STATE).read_text())["tokenizer_"])


@pytest.fixture
def refused(subwords, tmp_path):
    """Refuse the model with another tokenizer."""

    def _refused(tokenizer, reason=None):
        for file in subwords.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        written = tokenizer if tokenizer in ("", 5) else json.dumps(tokenizer)
        (tmp_path / layout.FEATURISER_STATE).write_text(json.dumps({"tokenizer_": written}))
        with pytest.raises(ValueError, match=reason) as caught:
            load_model(tmp_path)
        assert str(tmp_path) in str(caught.value)

    return _refused


@pytest.mark.parametrize("number", [-1, 36, 37, 1000, 1 << 31, 1 << 32, BILLION, 1.5, True, "1", None])
def test_a_subword_with_another_number_than_its_place_is_refused(subwords, refused, number):
    tokenizer = tokenizer_of(subwords)
    assert len(tokenizer["model"]["vocab"]) == 37
    tokenizer["model"]["vocab"]["g"] = number
    refused(tokenizer, "expected the numbers 0 to 36 in the vocabulary")


@pytest.mark.parametrize("missing", ["<unk>", "\u2581"])
def test_a_vocabulary_has_the_unknown_subword_and_the_mark(subwords, refused, missing):
    tokenizer = tokenizer_of(subwords)
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["other"] = vocabulary.pop(missing)
    refused(tokenizer, "expected <unk> as number 0 and")


CHAIN = [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"} for _ in range(40)]
PADDING = {
    "strategy": {"Fixed": BILLION},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "[PAD]",
}
MULTIPLE = {**PADDING, "strategy": "BatchLongest", "pad_to_multiple_of": 1 << 40}
TRUNCATION = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 1}
TEMPLATE = {"type": "TemplateProcessing", "special_tokens": {}}
ONE, TWO = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}
LONG_TEMPLATE = {**TEMPLATE, "single": [ONE] * 1000, "pair": [ONE, TWO]}
BOMBS = {
    "padding": PADDING,
    "padding to a multiple": MULTIPLE,
    "truncation": TRUNCATION,
    "chained replacements": CHAIN,
    "one replacement": CHAIN[0],
    "a template": LONG_TEMPLATE,
    "a byte-level part": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "a prefix": {"type": "Prepend", "prepend": "a" * 1000},
    "a decoder": {"type": "BPEDecoder", "suffix": "a"},
}
PLACES = {
    "padding": "padding",
    "padding to a multiple": "padding",
    "truncation": "truncation",
    "a template": "post_processor",
    "a decoder": "decoder",
}


def with_part(tokenizer, bomb):
    place, value = PLACES.get(bomb, "normalizer"), BOMBS[bomb]
    return {**tokenizer, place: {"type": "Sequence", "normalizers": value} if isinstance(value, list) else value}


@pytest.mark.parametrize("bomb", BOMBS)
def test_subwords_come_with_nothing_but_vocabulary_and_merges(subwords, refused, bomb):
    refused(with_part(tokenizer_of(subwords), bomb), "of tokenizer_ to be None, as fit writes it")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dropout": 0.5}, "expected dropout"),
        ({"type": "WordPiece"}, "expected type of tokenizer_ to be BPE"),
        ({"unk_token": "a"}, "expected unk_token"),
        ({"continuing_subword_prefix": "a" * 1000}, "expected continuing_subword_prefix"),
        ({"end_of_word_suffix": "a" * 1000}, "expected end_of_word_suffix"),
        ({"byte_fallback": True}, "expected byte_fallback"),
        ({"vocab": [["a", 0.5]]}, "expected a vocabulary and a list of merges"),
        ({"merges": None}, "expected a vocabulary and a list of merges"),
        ({"merges": [["a"]]}, None),
        ({"merges": [["a", "z", "z"]]}, None),
        ({"merges": ["a z z"]}, None),
        ({"merges": [["z", "zz"]]}, None),
        ({"merges": [5]}, None),
    ],
    ids=str,
)
def test_other_merges_and_settings_of_subwords_are_refused(subwords, refused, changes, reason):
    tokenizer = tokenizer_of(subwords)
    tokenizer["model"] |= changes
    refused(tokenizer, reason)


@pytest.mark.parametrize("tokenizer", ["", 5, None, [], {}, {"version": "1.0", "added_tokens": []}], ids=str)
def test_a_tokenizer_that_is_something_else_is_refused(refused, tokenizer):
    refused(tokenizer)


def test_further_tokens_of_subwords_are_refused(subwords, refused):
    tokenizer = tokenizer_of(subwords)
    tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": BILLION, "content": "t"})
    refused(tokenizer, "expected added_tokens")


def test_subwords_are_those_that_the_library_makes_of_the_stored_tokenizer(subwords):
    from tokenizers import Tokenizer

    featuriser = Subwords(max_features=60).fit(TEXTS)
    assert featuriser._loaded().to_str() == featuriser.tokenizer_
    assert tokenizer_of(subwords) == json.loads(featuriser.tokenizer_)
    theirs = Tokenizer.from_str(featuriser.tokenizer_)
    rows = featuriser.transform(["the cats", "<unk> \u2581the"])
    ids = [piece for word in ("\u2581the", "\u2581cats") for piece in theirs.encode(word).ids]
    assert rows.indices[: rows.indptr[1]].tolist() == ids


def test_subwords_of_former_versions_of_the_library_are_read(subwords):
    """Its merges were texts, and some settings were not there."""
    tokenizer = tokenizer_of(subwords)
    tokenizer["model"]["merges"] = [" ".join(pair) for pair in tokenizer["model"]["merges"]]
    del tokenizer["model"]["ignore_merges"], tokenizer["model"]["byte_fallback"], tokenizer["decoder"]
    featuriser = Subwords(max_features=60).fit(TEXTS)
    before = featuriser.transform(TEXTS)
    featuriser.tokenizer_ = json.dumps(tokenizer)
    assert np.array_equal(featuriser.transform(TEXTS).indices, before.indices)


# pretrained transformers


def transformed(tokens, tokenizer):
    tokens.tokenizer_ = json.dumps(tokenizer)
    return tokens.transform(["bank rate cut", "a " * 100])


@pytest.mark.parametrize("bomb", ["padding", "padding to a multiple", "truncation", "a decoder"])
def test_padding_truncation_and_decoder_of_a_file_are_not_built(tokens, bomb):
    tokenizer = json.loads(tokens.tokenizer_)
    before = transformed(tokens, tokenizer)
    assert np.array_equal(transformed(tokens, with_part(tokenizer, bomb)).indices, before.indices)


CHARSMAP = base64.b64encode((4).to_bytes(4, "little") + bytes(4) + b"a" * 65 + b"\0").decode()
SPECIAL = {"id": "[CLS]", "ids": [2] * 1000, "tokens": ["[CLS]"] * 1000}
WRONG_PARTS = {
    "chained replacements": {"normalizer": {"type": "Sequence", "normalizers": CHAIN}},
    "one replacement": {"normalizer": CHAIN[0]},
    "a replacement of nothing": {"normalizer": {**CHAIN[0], "pattern": {"String": ""}, "content": ""}},
    "an expression of one's own": {"normalizer": {**CHAIN[0], "pattern": {"Regex": "(a+)+b"}, "content": ""}},
    "a longer text for blanks": {"normalizer": {**CHAIN[0], "pattern": {"Regex": " {2,}"}, "content": "aa"}},
    "a prefix": {"normalizer": {"type": "Prepend", "prepend": "a" * 1000}},
    "a sequence in a sequence": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": []}]}
    },
    "a part twice": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "NFKD"}]}},
    "many replacements": {"normalizer": {"type": "Sequence", "normalizers": [{**CHAIN[0], "content": "b"}] * 17}},
    "a compiled map": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}},
    "no compiled map": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "a split": {
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False}
    },
    "bytes of bytes": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BOMBS["a byte-level part"]] * 2}},
    "a list of parts": {"pre_tokenizer": [{"type": "BertPreTokenizer"}]},
    "a text repeated": {"post_processor": LONG_TEMPLATE},
    "a text twice": {"post_processor": {**TEMPLATE, "single": [ONE, ONE], "pair": [ONE, TWO]}},
    "no text": {"post_processor": {**TEMPLATE, "single": [], "pair": [ONE, TWO]}},
    "many special tokens": {
        "post_processor": {
            **TEMPLATE,
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, ONE],
            "pair": [ONE, TWO],
            "special_tokens": {"[CLS]": SPECIAL},
        }
    },
    "templates of templates": {
        "post_processor": {"type": "Sequence", "processors": [{**TEMPLATE, "single": [ONE], "pair": [ONE, TWO]}] * 2}
    },
    "words by number": {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}},
    "no model": {"model": None},
}
WRONG_MODELS = {
    "dropout": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.5},
    "a long affix": {"continuing_subword_prefix": "#" * 17},
    "long words": {"max_input_chars_per_word": BILLION},
    "no unknown token": {"unk_token": "nothing"},
    "a large vocabulary": {"vocab": {"a" * (1 << 23): 0, "[UNK]": 1}},
    "scores that are not finite": {"type": "Unigram", "unk_id": 0, "vocab": [["a", float("nan")]]},
    "no unknown number": {"type": "Unigram", "unk_id": None, "vocab": [["a", 0.5]]},
}


@pytest.mark.parametrize("wrong", WRONG_PARTS)
def test_a_pretrained_tokenizer_has_known_parts_alone(tokens, wrong):
    with pytest.raises(ValueError, match="expected"):
        transformed(tokens, json.loads(tokens.tokenizer_) | WRONG_PARTS[wrong])


@pytest.mark.parametrize("wrong", WRONG_MODELS)
def test_the_model_of_a_pretrained_tokenizer_is_neither_large_nor_random(tokens, wrong):
    tokenizer = json.loads(tokens.tokenizer_)
    tokenizer["model"] |= WRONG_MODELS[wrong]
    with pytest.raises(ValueError, match="expected"):
        transformed(tokens, tokenizer)


@pytest.mark.parametrize("number", [70, BILLION])
def test_a_token_beyond_the_network_is_refused(tokens, number):
    tokenizer = json.loads(tokens.tokenizer_)
    tokenizer["model"]["vocab"]["bank"] = number
    with pytest.raises(ValueError, match="expected columns from 0 to"):
        transformed(tokens, tokenizer)


@pytest.mark.parametrize("number", [-1, BILLION])
def test_an_unknown_token_beyond_the_network_is_refused(tokens, number):
    tokens.unknown_ = number
    with pytest.raises(ValueError, match="as many as the network has"):
        _ = tokens.shape


KNOWN = {
    "albert": [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"String": "''"}, "content": '"'},
        {"type": "NFKD"},
        {"type": "StripAccents"},
        {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ],
    "deberta-v2": [
        {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "},
        {"type": "NFC"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    ],
    "modernbert": [{"type": "NFC"}],
}


@pytest.mark.parametrize("family", KNOWN)
def test_parts_of_known_text_encoders_are_built(tokens, family):
    tokenizer = json.loads(tokens.tokenizer_)
    tokenizer["normalizer"] = {"type": "Sequence", "normalizers": KNOWN[family]}
    assert len(transformed(tokens, tokenizer)) == 2


def test_a_tokenizer_is_built_once_for_each_length(tokens):
    assert loaded(tokens.tokenizer_, 12) is loaded(tokens.tokenizer_, 12)
    assert len(loaded(tokens.tokenizer_, None).encode("a " * 50).ids) == 52
    assert len(loaded(tokens.tokenizer_, 12).encode("a " * 50).ids) == 12

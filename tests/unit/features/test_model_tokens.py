import json
import sys

import numpy as np
import pytest

from twicetold.features.cache import feature_rows
from twicetold.features.model_tokens import ModelTokens
from twicetold.features.saved import load_fitted, save_fitted

TEXTS = ["bank rate cut", "Banks rated story7", "", "\U00013000", "film " * 50]


@pytest.fixture
def tokens(tiny_bert):
    return ModelTokens(model=str(tiny_bert), pretrained_on="nothing", max_length=12).fit([])


def test_numbers_are_the_models_own_ids_plus_one_and_zero_is_unknown(tokens, tiny_bert):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(tiny_bert)
    rows = tokens.transform(TEXTS)
    for text, start, end in zip(TEXTS, rows.indptr, rows.indptr[1:]):
        ids = np.array(theirs(text, truncation=True, max_length=12)["input_ids"])
        np.testing.assert_array_equal(rows.indices[start:end], np.where(ids == theirs.unk_token_id, 0, ids + 1))
    assert rows.width == len(theirs) + 1


def test_a_text_is_cut_to_max_length_special_tokens_included(tokens):
    rows = tokens.transform(["film " * 50])
    assert len(rows.indices) == 12
    assert rows.indices[-1] == 4  # [SEP], id 3


def test_a_second_text_follows_a_bert_separator_at_once_and_a_roberta_separator_doubled(tokens):
    bert = tokens.shape["transformer"]
    assert (bert["begins"], bert["between"], bert["unknown"]) == (1, [], 1)
    described = json.loads(tokens.tokenizer_)
    further = {"trim_offsets": True, "add_prefix_space": True}
    described["post_processor"] = {"type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], **further}
    tokens.tokenizer_ = json.dumps(described)
    roberta = tokens.shape["transformer"]
    assert (roberta["begins"], roberta["between"]) == (1, [4])


def test_the_saved_state_names_no_place_and_needs_neither_folder_nor_package(tokens, tiny_bert, tmp_path, monkeypatch):
    save_fitted(tokens, tmp_path)
    assert str(tiny_bert) not in "".join(p.read_text(errors="ignore") for p in tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "transformers", None)
    loaded = load_fitted(ModelTokens(model="gone", pretrained_on="nothing", max_length=12), tmp_path)
    np.testing.assert_array_equal(loaded.transform(TEXTS).indices, tokens.transform(TEXTS).indices)
    assert loaded.shape["transformer"]["weights"] is None
    assert {**loaded.shape["transformer"], "weights": str(tiny_bert)} == tokens.shape["transformer"]


def test_another_tokenizer_under_the_same_name_does_not_meet_cached_rows(tokens, news, tmp_path):
    first = feature_rows(tokens, news, tmp_path, key="news-1")
    described = json.loads(tokens.tokenizer_)
    vocabulary = described["model"]["vocab"]
    vocabulary["bank"], vocabulary["rate"] = vocabulary["rate"], vocabulary["bank"]
    tokens.tokenizer_ = json.dumps(described)
    second = feature_rows(tokens, news, tmp_path, key="news-1")
    assert not np.array_equal(first.indices, second.indices)

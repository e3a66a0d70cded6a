import json
import sys

import numpy as np
import pytest

from twicetold.features.model_tokens import ModelTokens
from twicetold.features.saved import load_fitted, save_fitted
from twicetold_lab.scoring.cache import feature_rows

TEXTS = ["bank rate cut", "Banks rated story7", "", "\U00013000", "film " * 50]


def test_numbers_are_the_models_own_ids_plus_one_and_zero_is_unknown(tokens, tiny_bert):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(tiny_bert)
    rows = tokens.transform(TEXTS)
    for text, start, end in zip(TEXTS, rows.indptr, rows.indptr[1:]):
        ids = np.array(theirs(text, truncation=True, max_length=12)["input_ids"])
        np.testing.assert_array_equal(rows.indices[start:end], np.where(ids == theirs.unk_token_id, 0, ids + 1))
    assert rows.width == len(theirs) + 1


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


def test_a_prefix_is_put_before_each_text_that_is_not_empty(tokens, tiny_bert):
    prefixed = ModelTokens(str(tiny_bert), "nothing", 12, prefix="bank: ").fit([])
    expected = tokens.transform(["bank: rate", ""])
    np.testing.assert_array_equal(prefixed.transform(["rate", ""]).indices, expected.indices)


def sentence_transformer(folder, tiny_bert, *, further=(), **ways):
    """A folder in the format of sentence-transformers, with a tiny BERT."""
    for file in tiny_bert.iterdir():
        (folder / file.name).symlink_to(file)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **ways}))
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), *further, ("Normalize", "2_Normalize")]
    described = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in modules]
    (folder / "modules.json").write_text(json.dumps(described))
    return str(folder)


CLS = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
MEAN = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


@pytest.mark.parametrize(("ways", "expected"), [(CLS, "first"), (MEAN, "mean")])
def test_pooling_is_what_the_folder_says(tiny_bert, tmp_path, ways, expected):
    folder = sentence_transformer(tmp_path, tiny_bert, **ways)
    assert ModelTokens(folder, "nothing", 12).fit([]).shape["transformer"]["pooling"] == expected
    assert ModelTokens(folder, "nothing", 12, pooling="cls").fit([]).pooling_ == "first"
    assert ModelTokens(folder, "nothing", 12, pooling="mean").fit([]).pooling_ == "mean"


def test_a_folder_that_asks_for_more_is_refused_and_can_be_overruled(tiny_bert, tmp_path):
    folder = sentence_transformer(tmp_path, tiny_bert, further=[("Dense", "2_Dense")], **MEAN)
    with pytest.raises(ValueError, match=r"expected a transformer and pooling in .*, got Dense as well"):
        ModelTokens(folder, "nothing", 12).fit([])
    assert ModelTokens(folder, "nothing", 12, pooling="mean").fit([]).pooling_ == "mean"
    (tmp_path / "modules.json").write_text((tmp_path / "modules.json").read_text().replace("Dense", "Normalize"))
    for ways in ({**MEAN, **CLS, "pooling_mode_mean_tokens": True}, {"pooling_mode_max_tokens": True}):
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(ways))
        with pytest.raises(ValueError, match="expected mean or cls as pooling of"):
            ModelTokens(folder, "nothing", 12).fit([])
    with pytest.raises(ValueError, match="expected one of auto, mean, cls as pooling, got 'max'"):
        ModelTokens(folder, "nothing", 12, pooling="max").fit([])

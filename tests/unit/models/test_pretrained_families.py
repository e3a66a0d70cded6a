"""minilm, minilm_cross and film_bert on a tiny BERT with random weights."""

import numpy as np
import pytest
import torch

from twicetold.features.model_tokens import ModelTokens
from twicetold.models.film_bert import FilmBert
from twicetold.models.minilm import MiniLm
from twicetold.models.minilm_cross import MiniLmCross
from twicetold.trained.reading import in_use, score_pairs

TEXTS = ["bank rate cut", "film star award drug trial phone chip", "bank", "\U00013000", "game vote story7", ""]


def film_bert(tokens, channels=32):
    torch.manual_seed(0)
    return FilmBert(**tokens.shape, channels=channels, filters=[8, 8, 8, 6], windows=[5, 3, 3, 2])


def batch_of(tokens, texts=TEXTS):
    return tokens.transform(texts).gather(np.arange(len(texts)))


def test_minilm_is_the_mean_over_all_tokens_as_in_sentence_transformers(tokens, tiny_bert):
    from transformers import AutoModel, AutoTokenizer

    encoded = AutoTokenizer.from_pretrained(tiny_bert)(TEXTS[:3], padding=True, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(tiny_bert).eval()(**encoded).last_hidden_state
        embedding = MiniLm(**tokens.shape).eval().encode(batch_of(tokens)).embedding
    inside = encoded["attention_mask"][..., None]
    mean = (states * inside).sum(1) / inside.sum(1)
    torch.testing.assert_close(embedding[:3], torch.nn.functional.normalize(mean), atol=1e-5, rtol=1e-5)
    assert not embedding[[3, 5]].any()


def test_pooling_by_the_first_token_takes_its_state_alone(tiny_bert):
    tokens = ModelTokens(str(tiny_bert), "nothing", 24, pooling="cls").fit([])
    encoder, batch = MiniLm(**tokens.shape).eval(), batch_of(tokens)
    first = encoder.transformer(batch).index_select(0, batch.offsets[:-1])
    expected = torch.nn.functional.normalize(first) * encoder.transformer.known(batch)[:, None]
    torch.testing.assert_close(encoder.encode(batch).embedding, expected)


def test_a_cross_encoder_starts_from_the_cosine_of_the_joint_reading(tokens):
    encoder = MiniLmCross(**tokens.shape, scale=5.0).eval()
    rows = tokens.transform(TEXTS)
    same = score_pairs(encoder, rows, np.array([0, 1]), np.array([0, 1]))
    assert (np.abs(same) <= 5).all()
    assert score_pairs(encoder, rows, np.array([0, 3, 5]), np.array([3, 5, 5])).tolist() == [0, 0, 0]


def test_a_cross_encoder_has_no_vector_for_a_text(tokens):
    with pytest.raises(TypeError, match="scores pairs only"):
        in_use(MiniLmCross(**tokens.shape, scale=5.0)).search_matrices(tokens.transform(TEXTS), np.arange(2))


@pytest.mark.parametrize("channels", [1, 8, 32])
def test_film_bert_gives_the_same_from_kept_vectors_as_from_tokens(tokens, channels):
    encoder, rows = film_bert(tokens, channels).eval(), tokens.transform(TEXTS)
    kept = type(rows)(rows.indptr, rows.indices, encoder.token_vectors(batch_of(tokens)).numpy(), rows.width)
    expected = encoder.encode(batch_of(tokens)).embedding
    torch.testing.assert_close(encoder.encode(kept.gather(np.arange(6))).embedding, expected)
    assert not expected[[3, 5]].any()


def test_film_bert_convolves_and_pools_as_plain_layers_do_on_one_text(tokens):
    from torch.nn import functional as F

    encoder = film_bert(tokens, channels=1).eval()
    image = encoder.token_vectors(batch_of(tokens, TEXTS[1:2])).float()[None, None]  # (1, 1, T, H)
    for layer in encoder.convolve[:-1]:
        image = F.max_pool2d(F.conv2d(image, layer[1].weight, layer[1].bias, padding="same"), 2, ceil_mode=True).relu()
    last = encoder.convolve[-1][1]
    mean = F.conv2d(image, last.weight, last.bias, padding="same").mean((2, 3))
    torch.testing.assert_close(encoder.encode(batch_of(tokens, TEXTS[1:2])).embedding, F.normalize(mean))


def test_film_bert_never_trains_nor_drops_out_of_its_transformer(tokens):
    encoder = film_bert(tokens).train()
    vectors = encoder.token_vectors(batch_of(tokens))
    assert torch.equal(vectors, encoder.token_vectors(batch_of(tokens)))
    encoder.encode(batch_of(tokens)).embedding[:3].sum().backward()
    assert all(p.grad is None for p in encoder.frozen.parameters())
    assert all(p.grad.any() for p in encoder.convolve.parameters())


def test_film_bert_refuses_a_fold_that_does_not_fit(tokens):
    with pytest.raises(ValueError, match="32 dimensions, which 5 channels do not divide"):
        film_bert(tokens, channels=5)
    with pytest.raises(ValueError, match="four convolutions"):
        FilmBert(**tokens.shape, channels=1, filters=[4, 4], windows=[3, 3])

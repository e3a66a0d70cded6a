"""Means of word vectors: against one text at a time, and against smooth inverse frequency as its paper writes it."""

import numpy as np
import pytest
import torch

from twicetold.encoding import SparseRows
from twicetold.features.tokens import Words
from twicetold.features.word_grams import WordGrams
from twicetold.models.fasttext import FastText
from twicetold.models.glove_mean import GloveMean
from twicetold.models.word2vec import Word2Vec

TEXTS = ["the cat sat on the mat", "a cat ran", "the dog sat", "the", "", "bird"]
TRAIN = TEXTS[:4]


def vectors_for(featuriser, size=5):
    random = np.random.default_rng(0).normal(size=(featuriser.shape["width"], size)).astype(np.float32)
    random[0] = 0
    return random


def batch_of(featuriser, texts=TEXTS):
    return featuriser.transform(texts).gather(np.arange(len(texts)))


def unit(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def test_an_embedding_points_where_the_mean_of_the_known_words_vectors_does():
    featuriser = Words().fit(TRAIN)
    vectors = vectors_for(featuriser)
    encoder = GloveMean(width=len(vectors), embedding=5, remove_components=0, vectors=vectors).eval()
    actual = encoder.search_vectors(encoder.encode(batch_of(featuriser)))[0].numpy()
    row = {word: vectors[place] for place, word in enumerate(featuriser.vocabulary_, 1)}
    means = [np.mean([row[w] for w in t.split() if w in row] or [np.zeros(5)], axis=0) for t in TEXTS]
    np.testing.assert_allclose(actual, unit(np.array(means)), atol=1e-6)


def test_smooth_weights_and_one_removed_direction_are_smooth_inverse_frequency():
    featuriser = Words(sif_a=1e-3).fit(TRAIN)
    vectors = vectors_for(featuriser)
    encoder = GloveMean(width=len(vectors), embedding=5, remove_components=1, vectors=vectors).eval()
    encoder.settle([batch_of(featuriser, TRAIN[:3]), batch_of(featuriser, TRAIN[3:])])
    actual = encoder.search_vectors(encoder.encode(batch_of(featuriser, TRAIN)))[0].numpy()

    words = " ".join(TRAIN).split()
    row = {word: vectors[place] for place, word in enumerate(featuriser.vocabulary_, 1)}
    weight = {word: 1e-3 / (1e-3 + words.count(word) / len(words)) for word in words}
    means = np.array([np.mean([weight[w] * row[w] for w in text.split()], axis=0) for text in TRAIN])
    direction = np.linalg.svd(means)[2][0]
    np.testing.assert_allclose(actual, unit(means - np.outer(means @ direction, direction)), atol=1e-5)


def test_removed_directions_are_orthonormal_and_gone_from_every_embedding():
    featuriser = Words().fit(TRAIN)
    encoder = GloveMean(
        width=len(vectors_for(featuriser)), embedding=5, remove_components=2, vectors=vectors_for(featuriser)
    )
    encoder.eval().settle([batch_of(featuriser)])
    torch.testing.assert_close(encoder.shared @ encoder.shared.T, torch.eye(2))
    assert (encoder.encode(batch_of(featuriser)).embedding @ encoder.shared.T).abs().max() < 1e-5


def test_pretrained_vectors_of_another_size_are_an_error_that_says_which_setting_to_change():
    with pytest.raises(ValueError, match=r"set encoder\.embedding=3"):
        GloveMean(width=4, embedding=5, remove_components=0, vectors=np.ones((4, 3), np.float32))


def test_no_pretrained_vector_at_all_is_an_error():
    encoder = GloveMean(width=4, embedding=5, remove_components=0)
    with pytest.raises(ValueError, match=r"set features\.vectors"):
        encoder.settle([])


@pytest.mark.parametrize(
    ("family", "featuriser"),
    [(Word2Vec, Words(counted=True)), (FastText, WordGrams()), (FastText, WordGrams(sif_a=0.1))],
)
def test_the_vectors_that_skip_gram_trains_are_those_that_texts_are_made_of(family, featuriser):
    plain = featuriser.fit(TRAIN)
    torch.manual_seed(0)
    encoder = family(**plain.shape, embedding=5, remove_components=0).train()
    words = encoder.encode(batch_of(plain)).extra
    assert words.offsets.diff().tolist() == [6, 3, 3, 1, 0, words.offsets.diff()[-1]]
    weight = (
        torch.from_numpy(0.1 / (0.1 + plain.counts_ / plain.counts_.sum())).float()
        if featuriser.get_params().get("sif_a")
        else torch.ones(len(plain.counts_))
    )
    text = torch.repeat_interleave(words.offsets.diff())
    expected = torch.zeros(len(TEXTS), 5).index_add_(0, text, words.vector * weight[words.number][:, None])
    torch.testing.assert_close(encoder.eval().encode(batch_of(plain)).embedding, expected)


def test_an_unknown_word_has_no_vector_in_word2vec_and_one_of_its_n_grams_in_fasttext():
    torch.manual_seed(0)
    words, grams = Words(counted=True).fit(TRAIN), WordGrams().fit(TRAIN)
    word2vec = Word2Vec(**words.shape, embedding=5, remove_components=0).eval()
    fasttext = FastText(**grams.shape, embedding=5, remove_components=0).eval()
    assert not word2vec.encode(batch_of(words, ["cats"])).embedding.any()
    actual = fasttext.encode(batch_of(grams, ["cats"])).embedding[0]
    rows = [len(grams.counts_) + grams.grams_.index(gram) for gram in ("#ca", "cat", "#cat")]
    torch.testing.assert_close(actual, fasttext.table[rows].mean(0))


def test_the_unknown_token_never_learns():
    words = Words(counted=True, min_df=2).fit(TRAIN)
    encoder = Word2Vec(**words.shape, embedding=5, remove_components=0).train()
    encoding = encoder.encode(batch_of(words))
    (encoding.embedding.sum() + encoding.extra.vector.sum()).backward()
    assert not encoder.table[0].any()
    assert not encoder.table.grad[0].any()


def test_an_empty_batch_trains_without_a_word():
    words = Words(counted=True).fit(TRAIN)
    encoder = Word2Vec(**words.shape, embedding=5, remove_components=0).train()
    none = SparseRows(torch.zeros(0, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), None, words.shape["width"])
    assert encoder.encode(none).extra.vector.shape == (0, 5)

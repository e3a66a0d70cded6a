"""The DSSM family against the formulas of its papers, text by text and word by word."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from twicetold.encoding import Encoding
from twicetold.features.bag_of_words import BagOfWords
from twicetold.features.views import View, Views
from twicetold.features.word_hashing import WordHashing
from twicetold.features.word_trigrams import WordTrigrams
from twicetold.layers.two_tower import OwnDimensions
from twicetold.models.cdssm import Cdssm
from twicetold.models.dssm import Dssm
from twicetold.models.dssm_mlp import DssmMlp
from twicetold.models.lstm_dssm import LstmDssm
from twicetold.models.mv_dssm import MultiViewDssm

TEXTS = ["good day to you", "day", "good", "to you a good day and a good night", "night and day", "you"]
TOWER = {"activation": "tanh", "batch_norm": False, "dropout": 0.0, "input_dropout": 0.0}


def hashed(featuriser):
    rows = featuriser.fit(TEXTS).transform([*TEXTS, "?"])
    return rows.gather(np.arange(len(TEXTS) + 1)), featuriser


def shaken(model):
    """With biases that are not zero, as after training."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return model.eval()


def trigram_counts(word, featuriser):
    counts = torch.zeros(len(featuriser.letter_grams_))
    for start in range(len(word)):
        counts[featuriser.letter_grams_.index(f"#{word}#"[start : start + 3])] += 1
    return counts


@pytest.fixture
def bags():
    return hashed(WordHashing())


@pytest.fixture
def sequences():
    return hashed(WordTrigrams())


def test_one_tower_scores_by_cosine_and_embeds_an_empty_text_to_zero(bags):
    rows, featuriser = bags
    model = shaken(Dssm(**featuriser.shape, hidden=[8], embedding=4, shared=True, **TOWER))
    encoding = model.encode(rows)
    assert encoding.embedding.shape == (7, 4)
    assert not encoding.embedding[-1].any()
    counts = torch.stack([sum(trigram_counts(w, featuriser) for w in text.split()) for text in TEXTS])
    second = model.query.layers[2]
    hidden = torch.tanh(counts @ model.query.hashing.weight + model.query.bias)
    torch.testing.assert_close(torch.tanh(second(hidden)), encoding.embedding[:-1])


def test_a_convolution_sees_each_words_neighbours_and_nothing_beyond_its_text(sequences):
    rows, featuriser = sequences
    model = shaken(Cdssm(**featuriser.shape, window=3, hidden=5, embedding=4, dropout=0.0))
    before, middle, after = model.convolution.weight.unflatten(1, (3, 5)).unbind(1)
    nothing = torch.zeros(len(featuriser.letter_grams_))
    expected = []
    for text in TEXTS:
        words = [nothing, *(trigram_counts(w, featuriser) for w in text.split()), nothing]
        windows = [words[t - 1] @ before + words[t] @ middle + words[t + 1] @ after for t in range(1, len(words) - 1)]
        pooled = torch.tanh(torch.stack(windows) + model.bias).max(0).values
        expected.append(torch.tanh(model.semantic(pooled)))
    embedding = model.encode(rows).embedding
    torch.testing.assert_close(torch.stack(expected), embedding[:-1])
    assert not embedding[-1].any()


def test_a_window_without_a_middle_is_refused():
    with pytest.raises(ValueError, match="the window must be an odd number of words, got 2"):
        Cdssm(width=5, window=2, hidden=5, embedding=4, dropout=0.0)


def test_an_lstm_gives_the_state_after_each_texts_own_last_word(sequences):
    rows, featuriser = sequences
    model = shaken(LstmDssm(**featuriser.shape, hidden=5, embedding=4, dropout=0.0))
    embedding = model.encode(rows).embedding
    for text, found in zip(TEXTS, embedding):
        words = torch.stack([trigram_counts(w, featuriser) for w in text.split()]) @ model.hashing.weight
        _, (last, _) = model.lstm.onwards(words[:, None])
        torch.testing.assert_close(last[0, 0], found)
    assert not embedding[-1].any()


@pytest.fixture
def multi_view():
    columns = {"text": TEXTS, "publisher": ["Post", "Wire", "Post", "", "Wire", "Ledger"]}
    views = Views(
        [
            View("words", ["text"], BagOfWords(stop_words=None)),
            View("letters", ["text"], WordHashing()),
            View("publisher", ["publisher"], WordHashing()),
        ]
    ).fit(columns)
    torch.manual_seed(0)
    model = MultiViewDssm(**views.shape, hidden=[8], embedding=4, **TOWER)
    return model, views.transform(columns).gather(np.arange(6))


def test_the_score_is_the_mean_over_views_of_the_cosine_and_a_missing_view_counts_as_zero(multi_view):
    model, rows = multi_view
    encoding = model.train().encode(rows)
    views = encoding.extra.query
    turned = torch.roll(torch.arange(6), 1)
    expected = torch.stack([cosine_similarity(views[:, m], views[turned, m]) for m in range(3)]).mean(0)
    torch.testing.assert_close(expected, model.score(encoding, type(encoding)(encoding.embedding[turned])))
    assert not views[3, 2].any()
    torch.testing.assert_close(torch.tensor(2 / 3), model.score(encoding, encoding)[3].detach())


def test_bounds_that_do_not_cover_the_columns_are_refused():
    with pytest.raises(ValueError, match=r"from 0 to 9, .* got \[0, 8\]"):
        MultiViewDssm(width=9, bounds=[0, 8], hidden=[8], embedding=4, **TOWER)


@pytest.fixture(params=[0, 3], ids=["one embedding for both", "some of it for the network alone"])
def compared(bags, request):
    rows, featuriser = bags
    sizes = {"hidden": [8], "embedding": 4, "own": request.param, "init_std": 0.1, "head": [6, 5]}
    model = DssmMlp(**featuriser.shape, **sizes, scale=5.0, **TOWER)
    return shaken(model), rows, featuriser


def others(encoding, order):
    """The encodings of the same texts in another order."""
    own = None if encoding.extra is None else OwnDimensions(encoding.extra.own[order])
    return Encoding(encoding.embedding[order], own)


def test_the_network_sees_both_embeddings_their_difference_and_their_product_in_both_orders(compared):
    model, rows, _ = compared
    encoding, whole = model.encode(rows), model.tower(rows)
    turned = others(encoding, [6, 0, 1, 2, 3, 4, 5])
    for i, score in enumerate(model.score(encoding, turned)[1:-1], 1):
        u, v = whole[i], whole[i - 1]
        orders = [model.head(torch.cat([a, b, (a - b).abs(), a * b])) for a, b in ((u, v), (v, u))]
        expected = model.scale * cosine_similarity(u[:4], v[:4], dim=0) + sum(orders).squeeze() / 2
        torch.testing.assert_close(expected, score)
    torch.testing.assert_close(model.score(encoding, turned), model.score(turned, encoding))


@pytest.mark.parametrize("compared", [3], indirect=True)
def test_every_dimension_that_the_network_has_for_itself_is_trained_by_the_score_alone(compared):
    model, rows, _ = compared
    encoding = model.encode(rows)
    own = encoding.extra.own
    own.retain_grad()
    model.score(encoding, others(encoding, [1, 0, 3, 2, 5, 4, 6]))[:6].sum().backward()
    assert own.grad[:6].all()
    assert encoding.embedding.shape[1] == model.search_vectors(encoding)[0].shape[1] == 4

import pytest
import torch

from twicetold.encoding import SparseRows
from twicetold.layers import transformer as module
from twicetold.layers.transformer import Transformer, join

TEXTS = ["bank rate cut", "", "film star award drug trial phone chip", "\U00013000", "bank", "game vote story7"]


@pytest.fixture
def network(tokens):
    return Transformer(**tokens.shape["transformer"]).eval()


def rows_of(tokens, texts):
    rows = tokens.transform(texts)
    return rows.gather(torch.arange(len(rows)).numpy())


def theirs(tiny_bert, *texts):
    from transformers import AutoModel, AutoTokenizer

    encoded = AutoTokenizer.from_pretrained(tiny_bert)(*texts, return_tensors="pt")
    with torch.no_grad():
        return AutoModel.from_pretrained(tiny_bert).eval()(**encoded).last_hidden_state[0]


@pytest.mark.parametrize("group", [1, 2, 64])
def test_every_token_gets_the_state_that_transformers_gives_it_alone(network, tokens, tiny_bert, group, monkeypatch):
    monkeypatch.setattr(module, "GROUP", group)
    with torch.no_grad():
        states = network(rows_of(tokens, TEXTS))
    expected = torch.cat([theirs(tiny_bert, text) for text in TEXTS])
    torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)


def test_joined_texts_are_read_as_transformers_reads_a_pair(network, tokens, tiny_bert):
    left, right = rows_of(tokens, ["film star award", "bank rate"]), rows_of(tokens, ["bank", "drug trial phone"])
    pairs = join(left, right, begins=network.begins, between=network.between)
    with torch.no_grad():
        states = network(pairs.rows, second=pairs.second)
    expected = [theirs(tiny_bert, "film star award", "bank"), theirs(tiny_bert, "drug trial phone", "bank rate")]
    torch.testing.assert_close(states, torch.cat(expected), atol=1e-5, rtol=1e-5)
    assert pairs.bounds.tolist() == [0, 5, 7, 12, 15]


def sequences(*lists):
    lengths = torch.tensor([len(one) for one in lists])
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return SparseRows(torch.tensor([n for one in lists for n in one]), offsets, None, 99)


def test_the_joined_sequence_does_not_depend_on_which_text_is_left():
    left, right = (
        sequences([1, 5, 2], [1, 7, 8, 2], [1, 2], [1, 9, 3, 2]),
        sequences([1, 6, 2], [1, 2], [1, 2], [1, 9, 4, 2]),
    )
    one, other = (join(*sides, begins=1, between=torch.tensor([7])) for sides in ((left, right), (right, left)))
    assert one.rows.indices.tolist() == other.rows.indices.tolist()
    assert torch.equal(one.second, other.second)
    assert one.rows.indices[: one.rows.offsets[1]].tolist() == [1, 6, 2, 7, 5, 2]


def test_no_pairs_are_joined_to_no_pairs():
    empty = SparseRows(torch.zeros(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), None, 99)
    assert len(join(empty, empty, begins=1, between=torch.tensor([], dtype=torch.int64)).rows) == 0


def test_a_text_of_special_and_unknown_tokens_alone_is_not_known(network, tokens):
    assert network.known(rows_of(tokens, TEXTS)).tolist() == [True, False, True, False, True, True]


def test_a_text_longer_than_the_model_reads_says_what_to_set(network, tokens):
    tokens.max_length = 60
    with pytest.raises(ValueError, match=r"longer than the 40 that the model reads: lower features.max_length"):
        network(rows_of(tokens, ["bank " * 59]))


def test_an_empty_batch_has_no_states(network):
    rows = SparseRows(torch.zeros(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), None, 30)
    assert network(rows).shape == (0, 32)

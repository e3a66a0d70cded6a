import numpy as np
import pytest
import torch
from torch import nn

from twicetold.features.rows import CsrRows
from twicetold_lab.training import cell
from twicetold_lab.training.cell import with_token_vectors

ROWS = CsrRows(np.array([0, 2, 2, 5, 6]), np.array([1, 2, 3, 1, 1, 4], np.int32), None, 5)


class Table(nn.Module):
    """A transformer's stand-in: a fixed vector for each token."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.frozen = nn.Embedding(5, 3)
        self.texts_read = 0

    def token_vectors(self, features):
        self.texts_read += len(features)
        return self.frozen(features.indices).detach().half()


@pytest.fixture(params=[1, 3, 4096])
def batch(request, monkeypatch):
    monkeypatch.setattr(cell, "TEXTS", request.param)


def kept(encoder, folder, rows=ROWS):
    return with_token_vectors(encoder, rows, folder, device=torch.device("cpu"))


def test_each_token_gets_its_vector_whatever_the_batch(batch, tmp_path):
    encoder = Table(0)
    rows = kept(encoder, tmp_path)
    expected = encoder.frozen.weight.detach().half().numpy()[ROWS.indices]
    np.testing.assert_array_equal(rows.values, expected)
    gathered = rows.gather(np.array([2, 0]))
    np.testing.assert_array_equal(gathered.values.numpy(), expected[[2, 3, 4, 0, 1]])
    assert gathered.values.dtype == torch.float16


def test_a_second_use_maps_the_file_and_reads_no_text(tmp_path):
    kept(Table(0), tmp_path)
    again = Table(0)
    rows = kept(again, tmp_path)
    assert again.texts_read == 0
    assert isinstance(rows.values, np.memmap)


@pytest.mark.parametrize(
    ("encoder", "rows"),
    [
        (Table(1), ROWS),
        (Table(0), CsrRows(ROWS.indptr, ROWS.indices[::-1].copy(), None, 5)),
        (Table(0), CsrRows(np.array([0, 1, 2, 5, 6]), ROWS.indices, None, 5)),
    ],
    ids=["other weights", "other tokens", "other texts"],
)
def test_another_network_or_corpus_gets_another_file(tmp_path, encoder, rows):
    kept(Table(0), tmp_path)
    kept(encoder, tmp_path, rows)
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interrupted_making_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(cell, "TEXTS", 2)
    encoder = Table(0)
    whole = encoder.token_vectors

    def stopped(features):
        if encoder.texts_read > 2:
            raise KeyboardInterrupt
        return whole(features)

    encoder.token_vectors = stopped
    with pytest.raises(KeyboardInterrupt):
        kept(encoder, tmp_path)
    assert not list(tmp_path.iterdir())

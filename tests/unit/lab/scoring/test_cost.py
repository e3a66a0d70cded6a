import dataclasses
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from twicetold.trained.memory import forget_peak, peak_resident, resident
from twicetold_lab.scoring import measuring
from twicetold_lab.scoring.cost import MANY, Cost
from twicetold_lab.scoring.measuring import PARALLEL_TOKENIZERS, measure_cost, model_bytes, one_thread, timed

LETTERS = Path(__file__).parents[3] / "models" / "letters"
COST = Cost("a processor", 4000, 1100, 500_000, 400_000, 500.0, 60_000.0, 1.5, 3.0)


class Stub:
    """A model that notes how it is used."""

    def __init__(self, *, searchable):
        self.searchable, self.embedded, self.scored = searchable, [], 0

    def read(self, texts):
        return self

    def embed(self, texts):
        self.embedded.append(list(texts))

    def score(self, left, right):
        assert len(left) == len(right) == 1
        assert torch.get_num_threads() == 1
        self.scored += 1


def measured(monkeypatch, texts, *, searchable):
    stub = Stub(searchable=searchable)
    monkeypatch.setattr(measuring, "load_model", lambda folder: stub)
    return stub, measure_cost(LETTERS, texts, processor="here", seconds=0.0)


def test_a_model_is_measured_as_it_is_used():
    cost = measure_cost(LETTERS, ["a text", "another text", "a third one"], processor="here", seconds=0.01)
    assert cost.processor == "here"
    assert cost.texts_per_second_256 > cost.texts_per_second_1 > 0
    assert 0 < cost.pair_milliseconds_p50 <= cost.pair_milliseconds_p95
    assert Cost.from_json(dataclasses.asdict(cost), Path("cost.json")) == cost


def test_texts_are_encoded_in_batches_of_256_and_one_by_one_and_repeated_where_there_are_fewer(monkeypatch):
    stub, cost = measured(monkeypatch, ["a", "b", "c"], searchable=True)
    assert {len(batch) for batch in stub.embedded} == {1, MANY}
    assert {text for batch in stub.embedded for text in batch} == {"a", "b", "c"}
    assert cost.texts_per_second_1
    assert cost.texts_per_second_256


def test_a_family_that_scores_pairs_alone_has_the_time_of_a_pair_only(monkeypatch):
    stub, cost = measured(monkeypatch, ["a", "b"], searchable=False)
    assert stub.embedded == []
    assert stub.scored > 1
    assert cost.texts_per_second_1 is cost.texts_per_second_256 is None
    assert cost.pair_milliseconds_p50 > 0


def test_without_a_text_nothing_is_measured():
    with pytest.raises(ValueError, match="expected at least one text to measure with"):
        measure_cost(LETTERS, [], processor="here")


def test_with_8_bits_each_row_of_a_matrix_has_a_scale_and_all_else_stays(tmp_path):
    tensors = {
        "matrix": np.zeros((7, 5), np.float32),
        "cube": np.zeros((3, 2, 4), np.float32),
        "thin": np.zeros((9, 1), np.float32),  # would be larger: its scales are as many as its numbers
        "row": np.zeros(11, np.float32),
        "whole": np.zeros((4, 4), np.int64),
    }
    (tmp_path / "members" / "one").mkdir(parents=True)
    save_file(tensors, tmp_path / "members" / "one" / "encoder.safetensors")
    (tmp_path / "recipe.json").write_text("{}")
    size, size_8_bits = model_bytes(tmp_path)
    assert size == sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert size - size_8_bits == (4 * 35 - 35 - 4 * 7) + (4 * 24 - 24 - 4 * 3)


def test_calls_are_numbered_and_are_as_many_as_fit_and_at_least_so_many():
    numbers = []
    assert len(timed(numbers.append, 0.0, least=3)) == 3
    assert numbers == [0, 1, 2]
    assert len(timed(numbers.append, 0.01, least=1)) > 10


def test_one_thread_computes_and_the_settings_before_come_back(monkeypatch):
    threads = torch.get_num_threads()
    monkeypatch.setenv(PARALLEL_TOKENIZERS, "true")
    with one_thread():
        assert torch.get_num_threads() == 1
        assert os.environ[PARALLEL_TOKENIZERS] == "false"
    assert torch.get_num_threads() == threads
    assert os.environ[PARALLEL_TOKENIZERS] == "true"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_peak_of_memory_is_that_since_it_was_forgotten():
    size = 1 << 26

    def hold():
        with mmap.mmap(-1, size) as block:  # memory of its own, not of what the process has freed
            for place in range(0, size, mmap.PAGESIZE):
                block[place] = 1

    hold()
    if not forget_peak():
        pytest.skip("the system does not allow it")
    before = resident()
    assert peak_resident() - before < size / 2
    hold()
    assert peak_resident() - before > size / 2


def test_a_processs_memory_that_the_system_does_not_tell_is_left_out(monkeypatch):
    monkeypatch.setattr(measuring, "forget_peak", lambda: False)
    _, cost = measured(monkeypatch, ["a", "b"], searchable=True)
    assert cost.peak_memory_bytes is cost.memory_before_bytes is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"model_bytes": "large"},
            "expected 'model_bytes' in cost.json to be of type int, got text of length 5: measure",
        ),
        ({"texts_per_second_1": 0}, "as texts_per_second_1 in cost.json, got 0"),
        ({"pair_milliseconds_p50": None}, "as 'pair_milliseconds_p50' in cost.json, got None"),
        ({"speed": 3}, "in cost.json, got .*speed.*measure the model again"),
    ],
)
def test_another_file_is_refused_in_words(changed, said):
    with pytest.raises(ValueError, match=said):
        Cost.from_json({**dataclasses.asdict(COST), **changed}, Path("cost.json"))

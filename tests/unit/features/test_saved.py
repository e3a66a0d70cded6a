import numpy as np
import pytest

from twicetold.features.saved import write_matrix


@pytest.mark.parametrize("dtype", [np.float16, "int8"])
@pytest.mark.parametrize("shape", [(7, 3), (0, 3), (1000, 128)])
def test_rows_written_one_after_another_are_the_file_of_the_whole(tmp_path, dtype, shape):
    whole = np.random.default_rng(0).integers(0, 9, shape).astype(dtype)
    with write_matrix(tmp_path / "a.npy", dtype=dtype, shape=shape) as write:
        for start in range(0, len(whole), 5):
            write(whole[start : start + 5])
    np.save(tmp_path / "b.npy", whole)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 3)), np.zeros((2, 4), np.int8), np.zeros((3, 3), np.int8), np.zeros((1, 3), np.int8)]
)
def test_other_rows_than_announced_are_an_error(tmp_path, rows):
    with pytest.raises(ValueError, match="expected"), write_matrix(tmp_path / "a", dtype="int8", shape=(2, 3)) as write:
        write(rows)

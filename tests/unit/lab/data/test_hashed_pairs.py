import hashlib

import numpy as np
import pytest

from twicetold_lab.data.hashed_pairs import FingerprintedPairs, fingerprints
from twicetold_lab.data.splits import TEST, VAL


def some() -> FingerprintedPairs:
    side = np.array([VAL, VAL, TEST], np.int8)
    return FingerprintedPairs(fingerprints("abc", "xyz"), np.array([1, 0, 1], np.float32), side)


def test_a_fingerprint_is_a_hash_that_no_process_and_no_platform_changes():
    digest = hashlib.blake2b("größe\nb".encode(), digest_size=8).digest()
    assert fingerprints(["größe"], ["b"]).tolist() == [int.from_bytes(digest, "little")]
    assert fingerprints(["a"], ["b"]).tolist() == [0x5F9761D5F2E96DA7]


def test_the_order_of_the_texts_and_the_place_between_them_count():
    assert len(np.unique(fingerprints(["a", "b", "ab", ""], ["b", "a", "", "ab"]))) == 4


def test_no_pairs_have_no_fingerprints():
    assert fingerprints([], []).shape == (0,)


def test_saved_pairs_are_loaded_again_and_saved_to_the_same_bytes(tmp_path):
    some().save(tmp_path / "one.npz")
    some().save(tmp_path / "two.npz")
    data = (tmp_path / "one.npz").read_bytes()
    assert data == (tmp_path / "two.npz").read_bytes()
    loaded = FingerprintedPairs.load(tmp_path / "one.npz", sha256=hashlib.sha256(data).hexdigest())
    for name, values in vars(some()).items():
        np.testing.assert_array_equal(getattr(loaded, name), values)
        assert getattr(loaded, name).dtype == values.dtype


def test_another_file_is_refused(tmp_path):
    some().save(tmp_path / "one.npz")
    with pytest.raises(ValueError, match="was changed: expected sha256 00"):
        FingerprintedPairs.load(tmp_path / "one.npz", sha256="0" * 64)

"""The numbers of the generic matcher in Git are those that the code of now learns, and its lock says so."""

import hashlib
from pathlib import Path

import pytest

from learn_matcher import GENERIC, HELD_OUT, main, write
from twicetold.matching.generic import LEARNT_FROM, read_sets
from twicetold_lab.grid.code_identity import matcher_identity
from twicetold_lab.grid.lock import locked_stages

ROOT = Path(__file__).parents[2]
FILES = (GENERIC, HELD_OUT)
LEARN = "features or learning have changed: TWICETOLD_MIRROR=... dvc repro pipelines/matcher/dvc.yaml, and commit"


@pytest.fixture(scope="module")
def numbers():
    return [read_sets((ROOT / file).read_text(encoding="utf-8")) for file in FILES]


def test_they_were_learnt_by_the_features_of_now(numbers):
    assert [sets[LEARNT_FROM]["code"] for sets in numbers] == [matcher_identity()] * 2, LEARN


def test_both_files_were_learnt_from_the_same_public_files(numbers):
    one, other = (sets[LEARNT_FROM]["files"] for sets in numbers)
    assert one == other


def test_the_lock_has_this_code_and_these_files_so_dvc_runs_nothing():
    locked = locked_stages(ROOT / "pipelines/matcher")["learn_matcher"]
    assert locked["params"] == {"build/conf/matcher.json": {"code.learn_matcher": matcher_identity()}}, LEARN
    digests = {out["path"]: out["md5"] for out in locked["outs"]}
    assert digests == {f"{file}": hashlib.md5((ROOT / file).read_bytes()).hexdigest() for file in FILES}, LEARN


def test_the_stage_names_the_first_public_file_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("TWICETOLD_MIRROR", f"{tmp_path}")
    with pytest.raises(SystemExit, match=r"set TWICETOLD_MIRROR .*abt_buy\.csv is missing"):
        main()


def test_what_is_written_is_what_the_tool_reads(tmp_path, numbers):
    write(tmp_path / "numbers.json", numbers[0])
    assert read_sets((tmp_path / "numbers.json").read_text()) == numbers[0]

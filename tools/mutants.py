"""Run the tests nearest to faults that were made by hand, and tell which faults they let pass.

Examples:
    python tools/mutants.py
    python tools/mutants.py --only guarantee
    python tools/mutants.py --file tools/mutants.toml

All tests run on a copy of the sources first, and must pass. Then each fault of `mutants.toml` is put into the copy, one
at a time, and its tests run on it. It prints a line for each fault, and ends with the number of those that no test saw;
with more than `MOST`, it fails.

Options:
    --only WORDS     faults whose file or name has these words
    --file FILE      the table of faults
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import os
import shutil
import tomllib
from collections.abc import Iterable
from multiprocessing import get_context
from tempfile import TemporaryDirectory

import hydra  # noqa: F401 (what most tests import, once for all processes)
import hypothesis  # noqa: F401
import pytest
import torch  # noqa: F401

from twicetold.errors import readable_errors
from twicetold.printable import print

ROOT = Path(__file__).resolve().parents[1]
MOST = 5  # faults that may survive
SECONDS = 600  # of the tests of a fault; a fault that hangs them is seen


def main() -> None:
    """One line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--file", type=Path, default=ROOT / "tools/mutants.toml")
    asked = parser.parse_args()
    mutants = tomllib.loads(asked.file.read_text(encoding="utf-8"))["mutant"]
    mutants = [each for each in mutants if asked.only in f"{each['file']} {each['name']}"]
    survivors = 0
    with TemporaryDirectory() as folder:
        copy = Path(folder, "src")
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if not passes(copy, tests := sorted({test for each in mutants for test in each["tests"]})):
            raise ValueError(f"expected tests that pass without a fault, these do not: {' '.join(tests)}")
        for number, each in enumerate(mutants, 1):
            passed = survives(copy, **each)
            survivors += passed
            print(f"{number:3}/{len(mutants)} {'SURVIVES' if passed else 'seen':9}{each['name']}  ({each['file']})")
    print(f"{survivors} of {len(mutants)} faults are seen by no test")
    sys.exit(survivors > MOST)


def survives(copy: Path, *, name: str, file: str, old: str, new: str, tests: list[str]) -> bool:
    """True if the tests pass on the copy with the fault in it.

    Raises:
        ValueError: if the code that the fault replaces is not there exactly once.
    """
    place = copy / file
    whole = place.read_text(encoding="utf-8")
    if whole.count(old) != 1:
        raise ValueError(f"{name}: expected the code once in {file}, found it {whole.count(old)} times: {old}")
    place.write_text(whole.replace(old, new), encoding="utf-8")
    try:
        return passes(copy, tests)
    finally:
        place.write_text(whole, encoding="utf-8")


def passes(copy: Path, tests: Iterable[str]) -> bool:
    """True if the tests pass on the copy in time.

    Raises:
        ValueError: if they did not run.
    """
    line = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-o", f"pythonpath={copy} tests pipelines tools"]
    line += [f"tests/unit/{each}" for each in tests]
    told = copy.parent / "told.txt"
    child = get_context("fork").Process(target=_test, args=(copy, line, told))
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
        return False
    if child.exitcode not in (0, 1, 2):  # 2: the fault ends the collection of tests
        raise ValueError(f"the tests {' '.join(tests)} did not run: {told.read_text(errors='replace')[-400:]}")
    return child.exitcode == 0


def _test(copy: Path, line: list[str], told: Path) -> None:
    """Run pytest on the copy, in a process of its own that has none of the project's modules yet."""
    for module in [each for each in sys.modules if each.split(".")[0] in {"checkout", "twicetold"}]:
        del sys.modules[module]
    os.environ["PYTHONPATH"] = str(copy)
    os.chdir(ROOT)
    with told.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        sys.exit(pytest.main(line))


if __name__ == "__main__":
    with readable_errors():
        main()

"""The way of a plain dedupe through the tool: short, so that it is quick to start and can be read."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = {"functions": 390, "files": 69, "modules": 90}


def test_a_plain_dedupe_calls_no_more_functions_and_imports_no_more_modules_than_it_did():
    line = [sys.executable, "tools/plain_path.py"]
    printed = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    number, names = zip(*(each.split()[:2] for each in printed), strict=True)
    passed = dict(zip((each.strip(",") for each in names), map(int, number), strict=True))
    assert passed["deep"] > 10
    assert {name: passed[name] for name in MOST if passed[name] > MOST[name]} == {}

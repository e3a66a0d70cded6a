"""The last lines of `make demo`."""

import runpy
import shlex
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "demo_dedupe.py"


def test_the_command_that_the_demo_ends_with_names_what_it_made_from_the_checkout(tmp_path, monkeypatch):
    found = runpy.run_path(str(SCRIPT))
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "build/demo"
    (made / "runs/toy_questions-static-0/model").mkdir(parents=True)
    (made / found["QUESTIONS"]).touch()
    words = shlex.split(found["command"](made / "runs/toy_questions-static-0"))
    assert words[:2] == ["twicetold", "dedupe"]
    assert all(Path(each).exists() for each in words[2:4])

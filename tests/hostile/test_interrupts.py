"""Ctrl-C while a script imports its packages or Hydra composes its configuration: no traceback."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import Lab

SCRIPTS = {
    "download": ("data=toy_questions",),
    "download_pretrained": ("pretrained=none",),
    "prepare": ("data=toy_questions",),
    "mine": ("data=toy_questions",),
    "mine_with_model": ("data=toy_questions", "mining=pseudo_labels"),
    "train": ("data=toy_questions", "model=dae", "profile=smoke", "tracking.enabled=false"),
    "evaluate": ("data=toy_questions", "model=dae", "profile=smoke"),
    "ensemble": ("data=toy_questions", "members=[tfidf,static]"),
    "report": (),
    "compose": ("build/conf",),
}


@pytest.mark.slow_hostile
@pytest.mark.parametrize("script", SCRIPTS)
def test_ctrl_c_at_the_start_of_a_script_ends_it_in_one_line(script: str, project: Lab):
    """About 30 s of one core for all scripts."""
    chance = random.Random(script)
    for _ in range(2):
        process = project.start("python", f"pipelines/{script}.py", *SCRIPTS[script])
        wait_until_it_imports(process)
        time.sleep(chance.uniform(0, 1.5))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert "Traceback" not in out, out
        assert process.returncode != 0 or "stopped" not in out  # 0: it was faster


def wait_until_it_imports(process: subprocess.Popen[str]) -> None:
    """Wait for the first compiled package of those that the script imports; Python's own start is not ours."""
    while process.poll() is None:
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        if "/_yaml." in maps or "antlr" in maps or "numpy" in maps:
            return
        time.sleep(0.002)

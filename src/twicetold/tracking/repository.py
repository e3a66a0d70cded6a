"""Asks git about the repository that this code is in, and about no other folder.

In a folder from elsewhere, git would run commands that the folder's own configuration names (`core.fsmonitor`, hooks).
"""

import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parents[2]
REPOSITORY = SOURCE.parent if SOURCE.name == "src" else None
"""The checkout; None if the package is installed, or was unpacked with a logged model."""
WITHOUT_COMMANDS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


def ask_git(*arguments: str) -> str:
    """The output of a git command; empty without git, repository or commit."""
    if REPOSITORY is None or not (REPOSITORY / ".git").exists():  # git would look in the folders above
        return ""
    command = ["git", *WITHOUT_COMMANDS, *arguments]
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

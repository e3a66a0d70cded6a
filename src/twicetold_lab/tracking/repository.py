"""Asks git about the repository that this code is in, and about no other folder.

In a folder from elsewhere, git would run commands that the folder's own configuration names (`core.fsmonitor`, hooks).
"""

import logging
import os
import subprocess
from functools import cache
from pathlib import Path

from twicetold.printable import printable

SOURCE = Path(__file__).parents[2]
REPOSITORY = SOURCE.parent if SOURCE.name == "src" else None
"""The checkout; None if the package is installed."""
WITHOUT_COMMANDS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
SECONDS = 10.0
"""Time that git has for an answer."""
IN_GIT = ("src", "pipelines", "conf", "params.yaml", "dvc.yaml")
"""Files and folders that stages are made of, data apart."""

_logger = logging.getLogger(__name__)


def commit_now(*options: str) -> tuple[str, bool]:
    """The commit of this checkout, and whether what stages are made of has changed since; empty if git does not say.

    The reason is warned of, once in a process: what runs here cannot be traced to its code.

    Args:
        options: of `git rev-parse`, say `--short=12`.
    """
    try:
        commit = _git("rev-parse", *options, "HEAD").decode().strip()
        changed = _git("status", "--porcelain", "--", *IN_GIT)
    except ValueError as reason:
        _warn_once(f"runs have no commit: {reason}")
        return "", False
    return commit, bool(changed.strip())


@cache
def _warn_once(message: str) -> None:
    _logger.warning(message)


def _git(*arguments: str) -> bytes:
    """Return the output of a git command.

    Raises:
        ValueError: with git's own words if it refuses, as it does in a checkout of another user; or if this code is in
            no repository, or git is missing or too slow.
    """
    if REPOSITORY is None or not (REPOSITORY / ".git").exists():  # git would look in the folders above
        raise ValueError(f"{REPOSITORY or SOURCE} is no git repository: run in a clone of the project")
    command = ["git", *WITHOUT_COMMANDS, *arguments]
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"git cannot be asked: {error}") from error
    answer = " ".join(done.stderr.decode(errors="replace").split())
    if done.returncode and answer:
        raise ValueError(f"git {arguments[0]} in {REPOSITORY} says: {printable(answer)}")
    return done.stdout

"""Asks git about the repository that this code is in, and about no other folder.

In a folder from elsewhere, git would run commands that the folder's own configuration names (`core.fsmonitor`, hooks).
"""

import logging
import os
import subprocess
from collections.abc import Collection
from functools import cache
from pathlib import Path

from twicetold.printable import printable

SOURCE = Path(__file__).parents[2]
REPOSITORY = SOURCE.parent if SOURCE.name == "src" else None
"""The checkout; None if the package is installed."""
WITHOUT_COMMANDS = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
SECONDS = 60.0  # for the files of a revision
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
        commit = _git("rev-parse", *options, "HEAD", seconds=10.0).decode().strip()
        changed = _git("status", "--porcelain", "--", *IN_GIT, seconds=10.0)
    except ValueError as reason:
        _warn_once(f"runs have no commit: {reason}")
        return "", False
    return commit, bool(changed.strip())


@cache
def _warn_once(message: str) -> None:
    _logger.warning(message)


def commit_of(revision: str) -> str:
    """The commit of a branch, a tag, or another name of a commit.

    Raises:
        ValueError: if there is none of this name, or git gives no answer.
    """
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    if not commit:
        raise ValueError(
            f"git knows no commit {revision!r} in {REPOSITORY}: expected a branch, a tag or a commit; in a shallow "
            "clone, fetch it first"
        )
    return commit


def files_at(revision: str, folder: str, names: Collection[str]) -> dict[str, bytes]:
    """Files of a revision, without checking it out.

    Args:
        revision: a branch, a tag or a commit.
        folder: path from the root of the repository.
        names: the files' own names; those that lie at any depth of the folder are read.

    Returns:
        Path from the root of the repository -> content; empty if the revision has no such folder.

    Raises:
        ValueError: if there is no such revision, or git fails.
    """
    commit = commit_of(revision)
    try:
        listed = _git("ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{folder}/").split(b"\0")
        entries = [entry.partition(b"\t") for entry in listed if entry]
        wanted = {path.decode(): about.split()[2] for about, _, path in entries if Path(path.decode()).name in names}
        answer = _git("cat-file", "--batch", given=b"".join(blob + b"\n" for blob in wanted.values()))
    except ValueError as error:  # names of files that are no UTF-8 among them
        raise ValueError(f"git could not read {folder} of {revision}: {error}") from error
    found, at = {}, 0
    for path in wanted:
        head, _, _ = answer[at:].partition(b"\n")
        size = int(head.split()[2])
        begin = at + len(head) + 1
        found[path], at = answer[begin : begin + size], begin + size + 1
    return found


def _git(*arguments: str, given: bytes | None = None, seconds: float = SECONDS) -> bytes:
    """The output of a git command; empty for one that fails without a word, as `rev-parse --quiet` does.

    Raises:
        ValueError: with git's own words if it refuses, as it does in a checkout of another user; or if this code is in
            no repository, or git is missing or too slow.
    """
    if REPOSITORY is None or not (REPOSITORY / ".git").exists():  # git would look in the folders above
        raise ValueError(f"{REPOSITORY or SOURCE} is no git repository: run in a clone of the project")
    command = ["git", *WITHOUT_COMMANDS, *arguments]
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, input=given, timeout=seconds, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"git cannot be asked: {error}") from error
    answer = " ".join(done.stderr.decode(errors="replace").split())
    if done.returncode and answer:
        raise ValueError(f"git {arguments[0]} in {REPOSITORY} says: {printable(answer)}")
    return done.stdout

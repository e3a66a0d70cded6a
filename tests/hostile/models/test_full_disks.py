"""Commands on a disk too small for what they write: a file system in memory that the command alone sees."""

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from twicetold import layout
from twicetold.features.saved import load_fitted
from twicetold.trained.building import construct
from twicetold.trained.folder_files import read_recipe

COLUMNS = 4096  # of the table
PROGRAM = """
import subprocess, sys
disk, size, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
done = subprocess.run([sys.executable, "-m", "twicetold", *arguments], capture_output=True, text=True)
print(done.stderr, file=sys.stderr)
print(*subprocess.run(["ls", "-A", disk], capture_output=True, text=True).stdout.split())
sys.exit(done.returncode % 256)
"""
OWN_MOUNTS = ["unshare", "--mount", "--map-root-user", "--user"]


@pytest.fixture
def on_a_disk(tmp_path):
    """Runs a command with a disk of some size in `disk`; returns status, messages and what is on the disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    probe = subprocess.run([*OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"this machine lets nobody mount a disk: {probe.stderr.decode().strip()}")

    def _run(size, *arguments):
        line = [*OWN_MOUNTS, sys.executable, "-c", PROGRAM, disk, size, *arguments]
        done = subprocess.run([*map(str, line)], capture_output=True, text=True, cwd=tmp_path, check=False)
        return done.returncode, done.stderr, done.stdout.split()

    return _run


@pytest.fixture
def large(model):
    """A model whose table has megabytes."""
    recipe = read_recipe(model)
    width = load_fitted(construct(recipe["features"], "features"), model).shape["width"]
    (name,) = load_file(model / layout.WEIGHTS)
    save_file({name: np.ones((width, COLUMNS), np.float32)}, model / layout.WEIGHTS)
    recipe["encoder"]["embedding"] = COLUMNS
    (model / layout.RECIPE).write_text(json.dumps(recipe))
    return model


@pytest.mark.parametrize("command", ["index", "dedupe"])
def test_a_full_disk_is_one_error_and_nothing_is_left(command, large, on_a_disk, tmp_path):
    (tmp_path / "rows.csv").write_text("text\n" + "".join(f"the cat of {n} dogs {'x' * 200}\n" for n in range(400)))
    size, out, arguments = {
        "index": ("128k", "error: expected room for disk/faq", ("index", "build", large, "rows.csv", "-o", "disk/faq")),
        "dedupe": ("64k", "out.csv", ("dedupe", large, "rows.csv", "-o", "disk/out.csv", "--links", "links.csv")),
    }[command]
    status, said, left = on_a_disk(size, *arguments)
    assert status == 1, said
    assert f"{out}, the disk (or what one may use of it) is full" in said
    assert left == []

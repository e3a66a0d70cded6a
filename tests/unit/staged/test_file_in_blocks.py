"""A file of many rows is compared in blocks, with the groups that it has in memory."""

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from twicetold.commands import app, dedupe
from twicetold.staged import file_in_blocks as module


@pytest.mark.parametrize("options", [("--links", "links.csv", "--json"), ("--sense", "copies", "--drop")])
def test_the_command_writes_the_same(options, many, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"text": many}), "many.parquet")
    command = ["dedupe", "many.parquet", "-o", "out.csv", *options]

    def outputs():
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.stderr
        return done, {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    alone, expected = outputs()
    monkeypatch.setattr(dedupe, "MANY", 100)
    monkeypatch.setattr(module, "threads", lambda: 1)
    monkeypatch.setattr(module, "compared_in_blocks", partial(module.compared_in_blocks, block=small["block"]))
    monkeypatch.setattr(module, "TemporaryDirectory", partial(module.TemporaryDirectory, dir=tmp_path))
    done, written = outputs()
    assert written == expected
    assert done.stdout == alone.stdout
    assert "near: " in done.stderr

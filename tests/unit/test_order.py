"""The order of the files of tests, which a word in the environment changes."""

from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.fixture
def ordered(request, monkeypatch):
    """The files of three tests each, in the order of a word."""
    (conftest,) = [one for one in request.config.pluginmanager.get_plugins() if of_all(one)]

    def _ordered(word):
        monkeypatch.setenv(conftest.ORDER, word)
        monkeypatch.setenv("TWICETOLD_MIRROR", "anywhere")
        items = [SimpleNamespace(path=file, number=number) for file in FILES for number in range(3)]
        conftest.pytest_collection_modifyitems(items)
        assert [item.number for item in items] == [0, 1, 2] * len(FILES), "those of a file in their own order"
        return [path for path, _ in groupby(item.path for item in items)]

    return _ordered


def of_all(plugin):
    return getattr(plugin, "__file__", None) == f"{ROOT / 'tests' / 'conftest.py'}"


def test_a_word_gives_an_order_of_files_of_its_own_and_the_same_each_time(ordered):
    one, other = ordered("one"), ordered("other")
    assert one == ordered("one"), "so that all workers collect the same"
    assert sorted(one) == sorted(other) == FILES
    assert len({tuple(one), tuple(other), tuple(FILES)}) == 3


def test_a_weekly_workflow_runs_every_test_in_an_order_of_its_own():
    workflow = yaml.safe_load((ROOT / ".github/workflows/order.yaml").read_text())
    assert workflow[True]["schedule"], "`on` is a truth value of YAML"
    (job,) = workflow["jobs"].values()
    assert "github.run_id" in job["env"]["TWICETOLD_TEST_ORDER"]
    assert job["steps"][-1]["run"] == "make test ARGS='-m \"\"'"

"""Modules import each other in one direction: no circle of files, whether an import runs, waits or is for types."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


def modules(source):
    """Dotted name -> file, of every module; a package is its `__init__`."""
    places = {path.relative_to(source).with_suffix("").parts: path for path in source.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for parts, path in places.items()}


def imports(path, known):
    """The modules that a file names in any import: at the top, in a function or under `TYPE_CHECKING`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [
                inner if (inner := f"{node.module}.{alias.name}") in known else node.module for alias in node.names
            ]
        yield from (name for name in names if name in known)


def circle(source):
    known = modules(source)
    graph = {name: set(imports(path, known)) - {name} for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_no_files_import_each_other_in_a_circle():
    assert circle(SOURCE) is None


def test_imports_are_absolute_so_that_none_is_overlooked():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    relative = {p for p, t in trees.items() for n in ast.walk(t) if isinstance(n, ast.ImportFrom) and n.level}
    assert not relative


@pytest.mark.parametrize(
    "back",
    [
        "import house.one",
        "from house import one",
        "from house.one import A",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.one import A",
        "def later():\n    from house.one import A",
    ],
)
def test_every_way_to_import_can_close_a_circle(tmp_path, back):
    house = tmp_path / "house"
    house.mkdir()
    for name, text in {"__init__": "", "one": "from house import two\nA = 1", "two": "from house import three"}.items():
        (house / f"{name}.py").write_text(text)
    (house / "three.py").write_text("B = 1")
    assert circle(tmp_path) is None
    (house / "three.py").write_text(back)
    assert {*circle(tmp_path)} == {"house.one", "house.two", "house.three"}

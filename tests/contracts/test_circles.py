"""Modules import each other in one direction: no circle of files, whether an import runs, waits or is for types."""

from graphlib import TopologicalSorter

import grimp


def test_no_files_import_each_other_in_a_circle():
    graph = grimp.build_graph("twicetold", "twicetold_lab", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imported) > 300
    TopologicalSorter(imported).prepare()  # an error names the circle

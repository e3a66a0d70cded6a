"""`route`: the links of a file to the bins of their components: one file, sorted by bin."""

from typing import Any

import numpy as np

from twicetold.staged.arrays import write_arrays
from twicetold.staged.components import bins_in, files_of_links
from twicetold.staged.links import LINK, read_links
from twicetold.staged.plan import Plan


def run(plan: Plan, name: str) -> dict[str, Any]:
    """Sort a file."""
    node, of_node = bins_in(plan)
    links = np.concatenate([np.empty(0, LINK), *read_links(dict(files_of_links(plan))[name])])
    goes = of_node[np.searchsorted(node, links["left"])]
    order = np.argsort(goes, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(goes, minlength=plan.bins)))
    content = {"starts": starts, **{side: links[side][order] for side in ("left", "right", "dot")}}
    write_arrays(plan.file("route", name, "links"), content)
    return {}

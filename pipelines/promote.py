"""Write the winner of a sweep to `conf/tuned/<data>-<model>.yaml`, as a change to review.

Usage: python pipelines/promote.py [sweep=<id, folder or latest>]

Examples:
    python pipelines/promote.py sweep=latest
    python pipelines/promote.py sweep=toy_news-dae-c1ffac77

Where the sweep varies the seed as well, means over the seeds decide. All is on validation. Values of other code than
now are refused.
"""

import checkout  # noqa: F401 (for its effects)

import sys

from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab.grid.promotion import by_data, promote
from twicetold_lab.grid.study import counts, find_sweep, finished, read_study


def main() -> None:
    with readable_errors():
        given = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
        which = given.pop("sweep", "latest")
        if given:
            raise ValueError(f"expected sweep=<id, folder or latest>; got {', '.join(sorted(given))}")
        sweep = find_sweep(which)
        study = read_study(sweep)
        print(f"sweep {sweep.folder.name}: {counts(study)}")
        trials_by_data = by_data(sweep, finished(study))
        if not trials_by_data:
            raise ValueError(f"no training of {sweep.folder} has a value")
        for data, trials in trials_by_data.items():
            promote(sweep, data, trials, counts(study))


if __name__ == "__main__":
    main()

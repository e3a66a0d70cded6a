"""Write the winner of a sweep to `conf/tuned/<data>-<model>.yaml`, as a change to review.

Usage: python pipelines/promote.py [sweep=<id, folder or latest>] [seeds=<n>] [best=<n>] [workers=<n>]

Examples:
    python pipelines/promote.py sweep=latest
    python pipelines/promote.py sweep=latest seeds=3 best=1 workers=2

The value of a trial that was chosen because it was the highest is too high. So with `seeds=3` the three best, and what
conf/ has now, are first trained with three seeds that the sweep has not used; their means decide. `best=1` does so with
the best alone, where trainings are long. `workers=2` runs two trainings at the same time, and the same command goes on
where it was stopped. All is on validation. Values of other code than now are refused, but for those that seeds replace.
"""

import checkout  # noqa: F401 (for its effects)

import sys
from collections.abc import Sequence

from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab.grid.promotion import by_data, promote
from twicetold_lab.grid.study import counts, find_sweep, finished, read_study

SETTINGS = {"sweep": "latest", "seeds": "0", "best": "3", "workers": "1"}


def main() -> None:
    with readable_errors():
        settings = _settings(sys.argv[1:])
        sweep = find_sweep(settings["sweep"])
        study = read_study(sweep)
        print(f"sweep {sweep.folder.name}: {counts(study)}")
        trials_by_data = by_data(sweep, finished(study))
        if not trials_by_data:
            raise ValueError(f"no training of {sweep.folder} has a value")
        for data, trials in trials_by_data.items():
            promote(sweep, data, trials, counts(study), settings)


def _settings(arguments: Sequence[str]) -> dict[str, str]:
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if unknown := sorted(set(given) - set(SETTINGS)):
        raise ValueError(
            f"expected sweep=<id, folder or latest>, seeds=3, best=3 and workers=2; got {', '.join(unknown)}"
        )
    settings = SETTINGS | given
    for key, least in (("seeds", 0), ("best", 1), ("workers", 1)):
        if not settings[key].isdecimal() or int(settings[key]) < least:
            raise ValueError(f"{key} must be a whole number of at least {least}; got {settings[key]!r}")
    return settings


if __name__ == "__main__":
    main()

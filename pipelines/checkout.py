"""The first import of every script: it runs the code of the checkout that it lies in, or refuses.

Several checkouts may share an environment, in which the package of one of them is installed, and `dvc exp run --queue`
runs stages in a copy of its own. Without this, such a script would run the installed code, whose hash is not the one
that `compose` renders.

With `--help` a script answers and ends here, before it imports anything large (`twicetold_lab.grid.script_help`).

`PYTHONPATH` is for the processes that a script starts and that are no scripts: workers of a pool, and jobs of a
launcher, which import the scripts and the plugin beside them as well.
"""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 (pathlib takes longer to import)
SOURCE = os.path.join(HOME, "src")  # noqa: PTH118

sys.path.insert(0, SOURCE)
OURS = [SOURCE, os.path.join(HOME, "pipelines")]  # noqa: PTH118
if (paths := os.environ.get("PYTHONPATH", "").split(os.pathsep))[:2] != OURS:
    os.environ["PYTHONPATH"] = os.pathsep.join([*OURS, *filter(None, paths)])

import twicetold.command_line  # noqa: E402 (before all others for its effects)

if not os.path.realpath(twicetold.__file__).startswith(os.path.join(os.path.realpath(SOURCE), "")):  # noqa: PTH118
    raise SystemExit(
        f"error: {sys.argv[0]} would run the code of {twicetold.__file__}, which is not that of its own checkout: "
        f"expected the package twicetold in {SOURCE}, and no other imported before"
    )

script = os.path.realpath(getattr(sys.modules["__main__"], "__file__", None) or "")
if {"-h", "--help"} & set(sys.argv[1:]) and os.path.dirname(script) == os.path.join(HOME, "pipelines"):  # noqa: PTH118, PTH120
    from pathlib import Path

    from twicetold_lab.grid.script_help import help_of

    try:
        print(help_of(Path(script), sys.modules["__main__"].__doc__ or ""), flush=True)
    except BrokenPipeError:  # the reader has gone, as in `--help | head -1`
        os._exit(0)
    raise SystemExit

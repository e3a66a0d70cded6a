"""Options of a dedupe of a folder."""

from typing import Annotated

import typer

PANEL = "A folder of parts"
Workers = Annotated[
    int, typer.Option("--workers", help="Tasks that run at a time.", min=1, max=100_000, rich_help_panel=PANEL)
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="joblib|submitit|ray",
        help="What runs tasks: joblib, submitit (Slurm, extra slurm) or ray (extra ray).",
        show_default="processes of this machine",
        rich_help_panel=PANEL,
    ),
]
Launch = Annotated[
    list[str] | None,
    typer.Option(
        "--launch",
        metavar="KEY=VALUE",
        help="An option of submitit's executor, such as slurm_partition=cpu, or of ray.init, such as address=auto.",
        rich_help_panel=PANEL,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Of all workers of this machine, or with --on submitit or ray of each: 4GB, 500MB.",
        rich_help_panel=PANEL,
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Compare each text with all others, not in cells.", rich_help_panel=PANEL)
]
Sample = Annotated[
    int,
    typer.Option(
        "--sample",
        help="Texts that are compared with all others, to say which share of the links was found; 0: none.",
        min=0,
        max=1_000_000,
        rich_help_panel=PANEL,
    ),
]
KeepStages = Annotated[
    bool,
    typer.Option(
        "--keep-stages", help="Keep the files of the stages: parts added later cost less.", rich_help_panel=PANEL
    ),
]

"""Arguments of the scripts of `pipelines/` before Hydra reads them."""

import sys


def help_for(*choices: str) -> None:
    """Make `--help` work without further arguments: Hydra needs a choice for groups without a default.

    Args:
        choices: used if the user does not choose, for example `data=toy_news`.
    """
    if {"--help", "-h"}.isdisjoint(sys.argv):
        return
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    named = {argument.partition("=")[0] for argument in chosen}
    missing = [choice for choice in choices if choice.partition("=")[0] not in named]
    sys.argv[1:] = [*chosen, *missing, "--help"]

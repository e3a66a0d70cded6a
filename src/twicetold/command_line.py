"""What the scripts of `pipelines/` do with their arguments before Hydra reads them."""

import sys


def help_for(*choices: str) -> None:
    """Let `--help` answer by itself: Hydra shows a composed configuration, and some groups have no default.

    Args:
        choices: what to show where the user names nothing, `data=toy_news`, say.
    """
    if {"--help", "-h"}.isdisjoint(sys.argv):
        return
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    named = {argument.partition("=")[0] for argument in chosen}
    missing = [choice for choice in choices if choice.partition("=")[0] not in named]
    sys.argv[1:] = [*chosen, *missing, "--help"]

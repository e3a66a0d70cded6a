"""Count the functions, files and modules of the tool that a plain dedupe of a file needs.

Examples:
    python tools/plain_path.py
    python tools/plain_path.py --list

It runs `twicetold dedupe examples/questions.csv` in this process. A function is counted once, however often it is
called; bodies of modules and classes, comprehensions and lambdas are none.

Options:
    --list    the functions by file and the modules in the order of their import as well
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import inspect
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from types import CodeType, FrameType

from twicetold.printable import print

ROOT = Path(__file__).resolve().parents[1]
DEEPER = {"call": 1, "return": -1}
AIMS = {"functions": 170, "files": 40, "modules": 90}
PACKAGE = str(ROOT / "src/twicetold") + "/"


def main() -> None:
    """A line for each number, with its aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    called, depth, modules = traced(["dedupe", str(ROOT / "examples/questions.csv")])
    files = Counter(code.co_filename.removeprefix(PACKAGE) for code in called)
    if asked.list:
        for file in sorted(files):
            print(f"{file}: {' '.join(code.co_qualname for code in called if code.co_filename == PACKAGE + file)}")
        print(*modules, sep="\n")
    for name, number in (("functions", len(called)), ("files", len(files)), ("modules", len(modules))):
        print(f"{number:4} {name}, aim {AIMS[name]}")
    print(f"{depth:4} deep")


def traced(arguments: list[str]) -> tuple[list[CodeType], int, list[str]]:
    """Return the functions that a command calls, the depth of its calls, and the modules that it imports.

    Raises:
        ValueError: if it ends with an error.
    """
    called: dict[CodeType, None] = {}
    depth = deepest = 0

    def follow(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if event in DEEPER and code.co_filename.startswith(PACKAGE) and code.co_flags & inspect.CO_NEWLOCALS:
            if not code.co_name.startswith("<"):
                called.setdefault(code)
            depth += DEEPER[event]
            deepest = max(depth, deepest)

    for name in [each for each in sys.modules if each.split(".")[0] == "twicetold"]:
        del sys.modules[name]
    sys.setprofile(follow)
    try:
        with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(StringIO()) as said:
            from twicetold.commands import app

            failed = app(arguments, standalone_mode=False)
    finally:
        sys.setprofile(None)
    if failed:
        raise ValueError(f"expected a dedupe without an error, got: {said.getvalue()}")
    return [*called], deepest, [each for each in sys.modules if each.split(".")[0] == "twicetold"]


if __name__ == "__main__":
    main()

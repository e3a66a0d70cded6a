"""A reference page of what is run from a checkout: targets of `make`, scripts of pipelines/, tools/ and benchmarks/."""

import ast
import re
from pathlib import Path

import names

PAGE = "reference/scripts.md"
FOLDERS = {
    "pipelines": "A script without arguments, or with `--help`, lists its choices.",
    "tools": "Measurements, and what makes files of the repository.",
    "benchmarks": "Speed as ratios in one run; `make bench` runs all of them.",
}
NOT_COMMANDS = {"checkout.py"}


def pages() -> dict[str, str]:
    """Path of the page in the site -> its Markdown."""
    made = (names.TOP / "Makefile").read_text(encoding="utf-8")
    rows = [
        f"| `make {target}` | {does} |" for target, does in re.findall(r"^([a-z-]+):.*## (.*)$", made, re.MULTILINE)
    ]
    parts = ["# Scripts and targets of `make`", "| target | what it does |\n|---|---|\n" + "\n".join(rows)]
    for folder, text in FOLDERS.items():
        rows = [f"| `{script.relative_to(names.TOP)}` | {_first_line(script)} |" for script in _scripts(folder)]
        parts.append(f"## {folder}\n\n{text}\n\n| script | what it does |\n|---|---|\n" + "\n".join(rows))
    return {PAGE: "\n\n".join(parts) + "\n"}


def _scripts(folder: str) -> list[Path]:
    found = sorted((names.TOP / folder).glob("*.py"))
    return [script for script in found if script.name not in NOT_COMMANDS and "__main__" in script.read_text("utf-8")]


def _first_line(script: Path) -> str:
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("|", r"\|")

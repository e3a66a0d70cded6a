"""Print the section of CHANGELOG.md about a version, after a check that the version is the same everywhere.

    python tools/release_notes.py v0.1.0

They are the notes of a release on GitHub.
"""

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print it, or say what does not fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tag", help="such as v0.1.0")
    tag = parser.parse_args().tag
    try:
        print(notes(tag, ROOT))
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error


def notes(tag: str, root: Path) -> str:
    """What CHANGELOG.md says about the version of a tag.

    Args:
        tag: `v` and the version.
        root: of the repository.

    Raises:
        ValueError: if pyproject.toml or CITATION.cff have another version, or CHANGELOG.md has no section of it.
    """
    version = tag.removeprefix("v")
    if not re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", tag):
        raise ValueError(f"expected a tag such as v0.1.0, got {tag}")
    cited = re.search(r"^version: *(\S+)", (root / "CITATION.cff").read_text(), re.MULTILINE)
    said = {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"],
        "CITATION.cff": cited and cited[1],
    }
    for file, found in said.items():
        if found != version:
            raise ValueError(f"expected version {version} in {file}, as the tag says; got {found}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n"
    section = re.search(rf"{heading}(.*?)(?=^## |\Z)", (root / "CHANGELOG.md").read_text(), re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise ValueError(
            f"expected a section `## [{version}] - YEAR-MONTH-DAY` in CHANGELOG.md: give what is under Unreleased this "
            "heading"
        )
    return section[1].strip()


if __name__ == "__main__":
    main()

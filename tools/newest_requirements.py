"""Print what pyproject.toml asks for without upper bounds, for pip install --pre --upgrade --requirement.

    python tools/newest_requirements.py > newest.txt

Lower bounds and excluded releases stay. It is how the weekly canary tries releases that are past our bounds.
"""

import argparse
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
UPPER = ("<", "<=", "~=", "==")


def main() -> None:
    """Print a line for each package."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("\n".join(newest(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])))


def newest(project: dict) -> list[str]:
    """The requirements of the package and of its extra `dev`, those of extras that it names included.

    Args:
        project: the table of pyproject.toml.
    """
    extras = project["optional-dependencies"]
    wanted, lines = [*project["dependencies"], f"{project['name']}[dev]"], {}
    while wanted:
        asked = Requirement(wanted.pop())
        if asked.name == project["name"]:
            wanted += [each for extra in asked.extras for each in extras[extra]]
            continue
        asked.specifier = SpecifierSet(",".join(str(each) for each in asked.specifier if each.operator not in UPPER))
        lines[asked.name] = str(asked)
    return sorted(lines.values(), key=str.lower)


if __name__ == "__main__":
    main()

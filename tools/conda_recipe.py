"""Print a recipe for conda (rattler-build's recipe.yaml) of a source distribution that tools/build_package.py made.

    python tools/conda_recipe.py dist/twicetold-0.1.0.tar.gz > recipe.yaml

Versions and requirements come from pyproject.toml. The extras of pip are not in it.
"""

import argparse
import hashlib
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"torch": "pytorch"}  # where conda-forge has another one
RECIPE = """\
schema_version: 1

context:
  version: "{version}"

package:
  name: twicetold
  version: ${{{{ version }}}}

source:
  url: https://pypi.org/packages/source/t/twicetold/twicetold-${{{{ version }}}}.tar.gz
  sha256: {sha256}

build:
  noarch: python
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
{scripts}

requirements:
  host:
    - python {python_min}.*
    - pip
{host}
  run:
    - python {python}
{run}

tests:
  - python:
      imports:
        - twicetold
      pip_check: true
      python_version: {python_min}.*
  - script:
      - twicetold --help
      - twicetold --version

about:
  homepage: {homepage}
  repository: {homepage}
  documentation: {documentation}
  summary: {summary}
  license: {license}
  license_file:
{licenses}
"""


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdist", type=Path, help="such as dist/twicetold-0.1.0.tar.gz")
    sdist = parser.parse_args().sdist
    try:
        print(recipe(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")), sdist), end="")
    except (OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from error


def recipe(pyproject: dict, sdist: Path) -> str:
    """The recipe.

    Args:
        pyproject: what pyproject.toml has.
        sdist: the file that the recipe is of.

    Raises:
        FileNotFoundError: if it is not there.
        ValueError: if it is of another version.
    """
    project = pyproject["project"]
    if sdist.name != (expected := f"{project['name']}-{project['version']}.tar.gz"):
        raise ValueError(f"expected {expected}, as pyproject.toml has this version; got {sdist.name}")
    return RECIPE.format(
        version=project["version"],
        sha256=hashlib.sha256(sdist.read_bytes()).hexdigest(),
        scripts=_listed([f"{name} = {place}" for name, place in project["scripts"].items()], 6),
        python=project["requires-python"],
        python_min=project["requires-python"].removeprefix(">="),
        host=_listed(map(conda, pyproject["build-system"]["requires"]), 4),
        run=_listed(map(conda, project["dependencies"]), 4),
        homepage=project["urls"]["Homepage"],
        documentation=project["urls"]["Documentation"],
        summary=project["description"],
        license=project["license"],
        licenses=_listed(project["license-files"], 4),
    )


def conda(requirement: str) -> str:
    """A requirement of pip as conda writes it.

    Raises:
        ValueError: if it has extras or a marker, which conda does not know.
    """
    found = re.fullmatch(r"([\w.-]+)([<>=!~][^;\[]*)?", requirement.replace(" ", ""))
    if found is None:
        raise ValueError(f"expected a name and versions alone, such as numpy>=2,<3; got {requirement!r}")
    return f"{NAMES.get(found[1], found[1])} {found[2] or ''}".strip()


def _listed(lines: object, indent: int) -> str:
    return "\n".join(f"{' ' * indent}- {line}" for line in lines)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()

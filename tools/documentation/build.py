"""Build the site of the documentation, strictly: no broken link, no page that nothing leads to, no name without a page.

    python tools/documentation/build.py             # build/site/html; `make docs` calls it
    python -m http.server -d build/site/html        # to read it

The page of results leads to the report if `python pipelines/report.py` has made it, as `make docs` does.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))  # this checkout's library

import built_site
import public_names
import staging

DOCSTRING = re.compile(r"^griffe: ", re.MULTILINE)
"""How the reader of docstrings begins a line, say of a parameter that is not there; strict or not, zensical goes on."""
FOLDER, REPORT = staging.TOP / "build/site", staging.TOP / "reports/index.html"


def main() -> None:
    """Stage, build, check."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    try:
        staging.stage(FOLDER, report=REPORT if REPORT.is_file() else None)
    except staging.Broken as error:
        sys.exit(f"error: {error}")
    built = FOLDER / "html"
    if REPORT.is_file():  # as it is, with what lies beside it
        shutil.copytree(REPORT.parent, FOLDER / "pages/report")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=FOLDER, stderr=subprocess.PIPE, text=True)
    print(done.stderr, file=sys.stderr, end="", flush=True)
    if done.returncode or DOCSTRING.search(done.stderr):
        sys.exit("error: zensical found the faults above")
    found = built_site.faults(built, base=staging.base(), named=public_names.anchors())
    if found:
        sys.exit("\n".join([*found, f"error: {len(found)} faults in the built site"]))
    print(f"site: {built / 'index.html'}, {len(list(built.rglob('*.html')))} pages")


if __name__ == "__main__":
    main()

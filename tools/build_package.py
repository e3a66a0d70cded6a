"""Build the wheel and the source distribution of the last commit: the same commit, the same bytes.

    python tools/build_package.py           # into dist/
    python tools/build_package.py --twice   # builds them again elsewhere and compares

Files that are not in Git never get in, and the wheel is built from the source distribution. In its README.md, which
PyPI shows, links lead to the repository at the tag of the version, as PyPI has no other file. setuptools writes times,
owners and order of files as they happen to be on the machine into a source distribution, so it is packed anew: files
by name, all of the time of the commit (`SOURCE_DATE_EPOCH` wins), all of nobody. Another version of setuptools may
make other bytes.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BACKEND = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)[^)\s]+(?=\))")  # to a file of the repository
PICTURES = (".svg", ".png")
NEWLY_MADE = 0o755, 0o644  # modes of programs and other files


def main() -> None:
    """Build both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for both files (default: dist)")
    parser.add_argument("--twice", action="store_true", help="build again, fail unless the bytes are equal")
    arguments = parser.parse_args()
    if _git("status", "--porcelain", "--untracked-files=no"):
        print("warning: what is not committed is not in the package", file=sys.stderr)
    made = build(arguments.out)
    if arguments.twice:
        with tempfile.TemporaryDirectory() as other:
            require_same(made, build(Path(other)))
        print("built twice: the same bytes", file=sys.stderr)
    for file in made:
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file}")


def build(out: Path) -> tuple[Path, Path]:
    """Build the source distribution of the last commit, and the wheel from it.

    Raises:
        subprocess.CalledProcessError: if Git or setuptools fail.
    """
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source, packed, unpacked = (Path(folder, name) for name in ("source", "packed", "unpacked"))
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source, filter="data")
        project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        readme = source / project["readme"]
        text = with_addresses(readme.read_text(encoding="utf-8"), project["urls"]["Homepage"], f"v{project['version']}")
        readme.write_text(text, encoding="utf-8")
        _call("build_sdist", source, packed, epoch)
        (raw,) = packed.glob("*.tar.gz")
        sdist = out / raw.name
        sdist.write_bytes(packed_anew(raw, epoch))
        with tarfile.open(sdist) as files:
            files.extractall(unpacked, filter="data")
        (root,) = unpacked.iterdir()
        _call("build_wheel", root, packed, epoch)
        (raw,) = packed.glob("*.whl")
        wheel = out / raw.name
        wheel.write_bytes(raw.read_bytes())
    return sdist, wheel


def with_addresses(text: str, repository: str, tag: str) -> str:
    """A page with addresses where it has links to files of the repository.

    Args:
        text: Markdown.
        repository: its address on GitHub.
        tag: of the files.
    """
    raw = repository.replace("//github.com/", "//raw.githubusercontent.com/")

    def address(link: re.Match[str]) -> str:
        place = f"{raw}/{tag}" if link[0].endswith(PICTURES) else f"{repository}/blob/{tag}"
        return f"{place}/{link[0]}"

    return LINK.sub(address, text)


def packed_anew(archive: Path, epoch: int) -> bytes:
    """A .tar.gz with the same files, which depends on their names and bytes alone.

    Args:
        archive: the .tar.gz.
        epoch: the time of all files, in seconds since 1970.
    """
    packed = io.BytesIO()
    with (
        tarfile.open(archive) as old,
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=epoch, compresslevel=9) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as new,
    ):
        for member in sorted((each for each in old if each.isfile()), key=lambda each: each.name):
            plain = tarfile.TarInfo(member.name)
            plain.size, plain.mtime = member.size, epoch
            plain.mode = NEWLY_MADE[0] if member.mode & 0o100 else NEWLY_MADE[1]
            new.addfile(plain, old.extractfile(member))
    return packed.getvalue()


def require_same(files: tuple[Path, Path], others: tuple[Path, Path]) -> None:
    """Check that two builds have the same names and bytes.

    Raises:
        SystemExit: if they have not; names the file.
    """
    for file, other in zip(files, others, strict=True):
        if file.name != other.name or file.read_bytes() != other.read_bytes():
            raise SystemExit(f"error: expected the same bytes from both builds; {file.name} differs from {other.name}")


def _call(hook: str, source: Path, out: Path, epoch: int) -> None:
    """Call a hook of setuptools in a process of its own, as PEP 517 says."""
    out.mkdir(exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONPATH": "", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", BACKEND, hook, str(out)]
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL, umask=0o022)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()

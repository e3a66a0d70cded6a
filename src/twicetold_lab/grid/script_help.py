"""Answer of a script of `pipelines/` to `--help`: its docstring, and the choices of its config.

The choices are read from the names of files in `conf/`, without Hydra: a script with `--help` imports nothing large.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

PRIMARY = re.compile(r'config_name="(\w+)"')
GROUP = re.compile(r"(?:override )?/?(\w+)(?:@\S+)?")  # an entry of a defaults list; optional ones say none
APPENDED = "experiment"
"""The group that no primary config has: `+experiment=static_ema` adds one, to a training."""
FIRST = ("data", "model")  # of the choices, those that a person makes
FURTHER = "Any other value of conf/ is set by <key>=<value>. With the choices made, `--cfg job` prints all of them."


def help_of(script: Path, description: str) -> str:
    """Return the text.

    Args:
        script: its file, `pipelines/` of a checkout with `conf/`.
        description: its docstring: a sentence, usage, examples.
    """
    text = description.strip()
    if (primary := PRIMARY.search(script.read_text(encoding="utf-8"))) is None:
        return text
    conf = script.parents[1] / "conf"
    groups = sorted(dict.fromkeys(_groups(conf, primary[1])), key=lambda group: group not in FIRST)
    lines = [f"  {group}={_options(conf / group)}" for group in groups]
    if "model" in groups:
        lines.append(f"  +{APPENDED}={_options(conf / APPENDED)}")
    return "\n".join([text, "", *(["Choices:", *lines, ""] if lines else []), FURTHER])


def _groups(conf: Path, config: str) -> Iterator[str]:
    """Yield groups of the defaults list of a config, those without a default first."""
    content = yaml.safe_load((conf / f"{config}.yaml").read_text(encoding="utf-8"))
    entries = content.get("defaults", [])
    chosen = [entry for entry in entries if isinstance(entry, dict)]
    for entry in sorted(chosen, key=lambda entry: "???" not in entry.values()):
        if (group := GROUP.fullmatch(next(iter(entry)))) and (conf / group[1]).is_dir():
            yield group[1]
    for entry in entries:
        if isinstance(entry, str) and entry != "_self_":
            yield from _groups(conf, entry)


def _options(group: Path) -> str:
    return ", ".join(sorted(path.stem for path in group.glob("*.yaml")))
